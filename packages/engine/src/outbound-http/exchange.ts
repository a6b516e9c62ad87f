import type { LookupAddress } from "node:dns";
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as openHttp,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as openHttps } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "../kernel/clock.ts";

/** Maximum size of a response body, in bytes. It is the maximum size of a frame, in which the response is passed on. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Time limit for connecting, including TLS, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_SOCKETS_PER_ADDRESS = 256;
const MAX_FREE_SOCKETS = 32;
/**
 * Maximum idle time of a connection, in milliseconds. It is less than the 5 s of common servers, because a request on a
 * connection that the server has just closed fails, and may not be retried.
 */
const IDLE_MS = 4_000;

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The addresses to connect to. The host name is not resolved again. */
  readonly addresses: readonly LookupAddress[];
  /** Aborting ends the exchange. It then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Called with the size of each part of the response body, in bytes. If it throws an error, the exchange ends and
   * rejects with that error.
   */
  readonly onResponseBytes?: (bytes: number) => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Phase in which an exchange without a response failed.
 * - `unconnected`: there was no connection.
 * - `unsent`: there was a connection, but the request was not sent (TLS).
 * - `unanswered`: the request may have been processed.
 * - `broken`: the response had begun.
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

/**
 * Sends requests to given addresses. Does not follow redirects or use proxies. Connections are reused only for the same
 * addresses.
 */
export class Exchanger {
  readonly #clock: Clock;
  readonly #trust: string | undefined;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  /** `trust`: certificates (PEM) that are trusted instead of Node's. */
  constructor(clock: Clock, trust: string | undefined) {
    this.#clock = clock;
    this.#trust = trust;
    const options = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS_PER_ADDRESS,
      maxFreeSockets: MAX_FREE_SOCKETS,
      timeout: IDLE_MS,
    };
    this.#http = pinning(new HttpAgent(options));
    this.#https = pinning(new HttpsAgent(options));
  }

  /** Rejects with ExchangeFailure, or with the signal's reason. */
  send(exchange: Exchange): Promise<HttpResponse> {
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
      const fail = (error: unknown): void =>
        finish(() => reject(error instanceof Refused ? error.cause : failureOf(error, progress.phase)));
      const failUnanswered = (error?: unknown): void => {
        // After the response has begun, events of the response report how it ends.
        if (progress.phase !== "broken") fail(error);
      };
      signal.addEventListener("abort", abort, { once: true });
      request.on("error", failUnanswered);
      // `close` covers the other ends: a server that switches protocols without a request, or an end without another
      // event.
      request.on("close", failUnanswered);
      request.on("response", (response) => {
        progress.phase = "broken";
        collect(response, exchange.onResponseBytes).then(
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

  /**
   * Tracks the phase of the request, and limits the time until it can be sent. Returns a function that stops the timer.
   */
  #watchConnecting(request: ClientRequest, progress: Progress, secure: boolean): () => void {
    let cancel = (): void => {};
    request.once("socket", (socket) => {
      if (!socket.connecting) {
        progress.phase = "unanswered";
        return;
      }
      cancel = this.#clock.after(CONNECT_TIMEOUT_MS, () =>
        request.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
      );
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

/**
 * Changes the agent so that it reuses a socket only for requests with the same validated addresses, not only the same
 * host and port.
 */
function pinning<A extends HttpAgent | HttpsAgent>(agent: A): A {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options?: RequestOptions) => `${nameOf(options)}|${(options as Pinned | undefined)?.pinnedTo}`;
  return agent;
}

/** Returns a lookup function that always returns the validated addresses. */
function lookupOf(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (first === undefined) done(new Error("no address"), "");
    else if (options.all) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };
}

/** Wraps an error that `onResponseBytes` threw. */
class Refused extends Error {}

function collect(response: IncomingMessage, onBytes: Exchange["onResponseBytes"]): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const tooLarge = (): Error => new Error(`the answer is larger than ${MAX_RESPONSE_BYTES} bytes`);
    if (Number(response.headers["content-length"] ?? 0) > MAX_RESPONSE_BYTES) {
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
      if (bytes > MAX_RESPONSE_BYTES) reject(tooLarge());
      else chunks.push(chunk);
    });
    response.on("error", reject);
    response.on("close", () => reject(new Error("the response was incomplete")));
    response.on("end", () => {
      if (response.complete) resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks, bytes) });
      else reject(new Error("the response was incomplete"));
    });
  });
}

/** Returns the failure with the error code instead of Node's message, because Node's messages contain addresses. */
function failureOf(error: unknown, phase: FailurePhase): ExchangeFailure {
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    // Errors with these codes are about malformed or oversized headers, so a response had begun.
    const seen = error.code.startsWith("HPE_") ? "broken" : phase;
    return new ExchangeFailure(seen, error.code, error);
  }
  return new ExchangeFailure(
    phase,
    error instanceof Error ? error.message : "the connection ended without an answer",
    error,
  );
}
