import type { LookupAddress } from "node:dns";
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as openHttp, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as openHttps } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "../kernel/clock.ts";

/** Largest body of an answer, in bytes: the largest frame. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long connecting and TLS may take together, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_SOCKETS_PER_ADDRESS = 256;
const MAX_FREE_SOCKETS = 32;
/** Below the 5 s after which common servers close: a request on a socket that just closed fails and may not be sent again. */
const IDLE_MS = 4_000;

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Where the connection goes; the name is not resolved again. */
  readonly addresses: readonly LookupAddress[];
  /** Aborting ends the exchange; it rejects with the reason. */
  readonly signal: AbortSignal;
  /** Called with the size of each part of the answer's body, in bytes. What it throws ends the exchange, which rejects with it. */
  readonly onAnswerBytes?: (bytes: number) => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Why there is no answer. `unconnected`: nothing heard us; `unsent`: something did, but was not told the request (TLS);
 * `unanswered`: the request may have been carried out; `broken`: the answer had begun.
 */
export type FailurePhase = "unconnected" | "unsent" | "unanswered" | "broken";

export class ExchangeFailure extends Error {
  readonly phase: FailurePhase;

  constructor(phase: FailurePhase, message: string, cause?: unknown) {
    super(message, { cause });
    this.phase = phase;
  }
}

type Pinned = RequestOptions & { readonly pinnedTo: string };

/** Sends requests to pinned addresses. Follows no redirects and knows no proxies; connections are only used again for the same addresses. */
export class Exchanger {
  readonly #clock: Clock;
  readonly #trust: string | undefined;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  /** `trust`: certificates (PEM) that count instead of those that Node knows. */
  constructor(clock: Clock, trust: string | undefined) {
    this.#clock = clock;
    this.#trust = trust;
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS_PER_ADDRESS, maxFreeSockets: MAX_FREE_SOCKETS, timeout: IDLE_MS };
    this.#http = pinning(new HttpAgent(options));
    this.#https = pinning(new HttpsAgent(options));
  }

  /** Rejects with ExchangeFailure, or with the signal's reason. */
  send(exchange: Exchange): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const { signal } = exchange;
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const progress: Progress = { phase: "unconnected" };
      const request = this.#open(exchange);
      const cancelConnectTimer = this.#watchConnecting(request, progress, exchange.url.protocol === "https:");
      const finish = (settle: () => void): void => {
        cancelConnectTimer();
        signal.removeEventListener("abort", abort);
        settle();
      };
      const abort = (): void => {
        finish(() => reject(signal.reason));
        request.destroy();
      };
      const fail = (error: unknown): void => finish(() => reject(error instanceof Refused ? error.cause : failureOf(error, progress.phase)));
      const failUnanswered = (error?: unknown): void => {
        // Once there is an answer, its own events tell how it ends, after these.
        if (progress.phase !== "broken") fail(error);
      };
      signal.addEventListener("abort", abort, { once: true });
      request.on("error", failUnanswered);
      // A peer that switches protocols unasked, and whatever else ends the request without a word.
      request.on("close", failUnanswered);
      request.on("response", (response) => {
        progress.phase = "broken";
        collect(response, exchange.onAnswerBytes).then(
          (answer) => finish(() => resolve(answer)),
          (error: unknown) => {
            fail(error);
            request.destroy();
          },
        );
      });
      request.end(exchange.body);
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #open({ url, method, headers, addresses }: Exchange): ClientRequest {
    const secure = url.protocol === "https:";
    const options: Pinned & { readonly ca?: string } = {
      method,
      protocol: url.protocol,
      hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
      port: url.port === "" ? (secure ? 443 : 80) : url.port,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers },
      maxHeaderSize: MAX_HEADER_BYTES,
      lookup: lookupOf(addresses),
      pinnedTo: addresses.map(({ address }) => address).join(","),
      ...(this.#trust === undefined ? {} : { ca: this.#trust }),
    };
    return secure ? openHttps({ ...options, agent: this.#https }) : openHttp({ ...options, agent: this.#http });
  }

  /** Follows how far the request has come, and bounds the part before it can be sent. Returns how to stop the timer. */
  #watchConnecting(request: ClientRequest, progress: Progress, secure: boolean): () => void {
    let cancel = (): void => {};
    request.once("socket", (socket) => {
      if (!socket.connecting) {
        progress.phase = "unanswered";
        return;
      }
      cancel = this.#clock.after(CONNECT_TIMEOUT_MS, () => request.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)));
      const ready = (): void => {
        progress.phase = "unanswered";
        cancel();
      };
      if (!secure) {
        socket.once("connect", ready);
        return;
      }
      socket.once("connect", () => {
        progress.phase = "unsent";
      });
      socket.once("secureConnect", ready);
    });
    return () => cancel();
  }
}

interface Progress {
  phase: FailurePhase;
}

/** The agent keeps sockets apart by host and port; here also by the addresses that were checked for this request. */
function pinning<A extends HttpAgent | HttpsAgent>(agent: A): A {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options?: RequestOptions) => `${nameOf(options)}|${(options as Pinned | undefined)?.pinnedTo}`;
  return agent;
}

/** Answers the one question that connecting asks with the addresses that were checked. */
function lookupOf(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (first === undefined) done(new Error("no address"), "");
    else if (options.all) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };
}

/** What `onAnswerBytes` threw. */
class Refused extends Error {}

function collect(response: IncomingMessage, onBytes: Exchange["onAnswerBytes"]): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const tooLarge = (): Error => new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    if (Number(response.headers["content-length"] ?? 0) > MAX_ANSWER_BYTES) {
      reject(tooLarge());
      return;
    }
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      try {
        onBytes?.(chunk.byteLength);
      } catch (cause) {
        reject(new Refused("the answer was refused", { cause }));
        return;
      }
      if (bytes > MAX_ANSWER_BYTES) reject(tooLarge());
      else chunks.push(chunk);
    });
    response.on("error", reject);
    response.on("close", () => reject(new Error("the answer broke off")));
    response.on("end", () => {
      if (response.complete) resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks, bytes) });
      else reject(new Error("the answer broke off"));
    });
  });
}

/** Node's own messages name addresses; the code says as much. */
function failureOf(error: unknown, phase: FailurePhase): ExchangeFailure {
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    // Malformed or oversized headers are an answer of a kind.
    const seen = error.code.startsWith("HPE_") ? "broken" : phase;
    return new ExchangeFailure(seen, error.code, error);
  }
  return new ExchangeFailure(phase, error instanceof Error ? error.message : "the connection ended without an answer", error);
}
