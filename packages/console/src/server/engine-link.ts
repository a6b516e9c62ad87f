import { CallError, connect, connectStreams, type Logger, type StreamClient, silentLogger, type Worker } from "@svc/sdk";
import type { EngineState } from "../contract/live.ts";

export interface EngineLinkOptions {
  /** `ws://` URLs. */
  readonly bridge: string;
  readonly realtime: string;
  readonly token: string | undefined;
  /** The name of its worker, under which its traces stand too. */
  readonly serviceName: string;
  /** Whether it may send spans of its own. */
  readonly sendsSpans: boolean;
  /** Makes no calls and joins no streams unless the engine says that it is in development mode: in another one, a login decides over rights. */
  readonly needsDevelopment: boolean;
  /** Asks for the mode of the engine by another way than the bridge, which may not be reached, e.g. at a wrong port. */
  readonly askMode: () => Promise<"development" | "production" | undefined>;
  /** Runs before each attempt to connect; the attempt fails with its error. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/** How long the console waits for an answer to who the engine is, in milliseconds. */
const INFO_TIMEOUT_MS = 5_000;
/** How long somebody who logs in waits for the engine, in milliseconds. */
const ADMISSION_TIMEOUT_MS = 10_000;
const TOKEN_REFUSED = "the engine does not accept this token; tokens of roles work only on the listener that lists them, see --bridge-port";
/** Why this token joins no streams, for people. */
export const STREAMS_REFUSED = "live updates need the engine's own token";
/** Closer together than a worker's: somebody sits before the page and waits. */
const RECONNECT = { initialDelayMs: 500, multiplier: 1.5, maxDelayMs: 5_000 } as const;
/** What pages have under way at once; more are refused, so that nothing piles up behind an engine that does not answer. */
const MAX_CALLS = 500;

interface EngineInfo {
  readonly mode?: "development" | "production";
  readonly version: string;
  readonly instance_id: string;
  readonly started_at_ms: number;
}

/** Of the engine that was found last. `refused`: it lets nobody in without a token, or not with this one. */
type Mode = "unknown" | "development" | "production" | "refused";

/** One of the two ports: how the connection to it stands. */
export interface PortState {
  readonly state: EngineState["bridge"];
  /** Why it is not connected, for people. */
  readonly reason: string | null;
  readonly nextTryAtMs: number | null;
}

type Port = "bridge" | "realtime";

/** The console's two connections to the engine: as a worker over the bridge, and to its streams. Both are made again by themselves. */
export class EngineLink {
  readonly worker: Worker;
  readonly streams: StreamClient;
  readonly #ports: Record<Port, PortState> = {
    bridge: { state: "connecting", reason: null, nextTryAtMs: null },
    realtime: { state: "connecting", reason: null, nextTryAtMs: null },
  };
  #engine: Pick<EngineState, "instance_id" | "version" | "started_at_ms"> = { instance_id: null, version: null, started_at_ms: null };
  #state: EngineState;
  #calls = 0;
  readonly #listeners = new Set<(state: EngineState) => void>();
  readonly #needsDevelopment: boolean;
  #mode: Mode = "unknown";
  /** Whether `#mode` is that of the present connection. */
  #isModeCurrent = false;
  #retry: NodeJS.Timeout | undefined;
  /** The engine's last answer at the port of the streams was that it does not accept the token. */
  #areStreamsRefused = false;
  #failure: { readonly status: number | undefined; readonly reason: string } | undefined;

  constructor({ bridge, realtime, token, serviceName, sendsSpans, needsDevelopment, askMode, beforeConnect }: EngineLinkOptions) {
    this.#needsDevelopment = needsDevelopment;
    const headers = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
    this.#state = this.#compose();
    this.worker = connect(bridge, {
      name: serviceName,
      description: "The console",
      kind: "console",
      telemetry: { logs: false, spans: sendsSpans, metrics: false },
      logger: this.#listener("bridge"),
      handleSignals: false,
      reconnect: RECONNECT,
      beforeConnect,
      ...headers,
    });
    this.streams = connectStreams({
      url: realtime,
      logger: this.#listener("realtime"),
      reconnect: RECONNECT,
      beforeConnect: needsDevelopment ? () => this.#untilDevelopment(askMode, beforeConnect) : beforeConnect,
      ...(token === undefined ? {} : { token }),
    });
    this.worker.onConnectionState((state) => {
      if (state === "connected") void this.#learn();
      else this.#lost("bridge");
    });
    this.streams.onConnectionState((state) => {
      if (state === "connected") {
        this.#areStreamsRefused = false;
        this.#set("realtime", { state: "connected", reason: null, nextTryAtMs: null });
      } else this.#lost("realtime");
    });
  }

  /** Whether the engine is found not to be in development mode, so that who uses the console has to log in. */
  get requiresLogin(): boolean {
    return this.#mode === "production" || this.#mode === "refused";
  }

  /** Whether it is connected, to an engine for which this link is made. */
  get mayAct(): boolean {
    return this.#ports.bridge.state === "connected" && (!this.#needsDevelopment || (this.#isModeCurrent && this.#mode === "development"));
  }

  /** Whether the engine refuses the token. */
  get isRefused(): boolean {
    return this.#failure?.status === 401;
  }

  /** Whether the engine accepts the token for calls, and refuses it for streams, as it does with tokens of roles. */
  get areStreamsRefused(): boolean {
    return this.#areStreamsRefused && this.#ports.bridge.state === "connected";
  }

  /** Resolves when the engine has let this link in. Rejects with CallError when its first answer is another: `AUTH_ERROR`, `disconnected`. */
  async admitted(): Promise<void> {
    await this.#until(() => this.#ports.bridge.state === "connected" || this.#failure !== undefined, ADMISSION_TIMEOUT_MS);
    if (this.#ports.bridge.state === "connected") return;
    if (this.isRefused) throw new CallError("AUTH_ERROR", TOKEN_REFUSED);
    throw new CallError("disconnected", `the engine cannot be asked about the token: ${this.#failure?.reason ?? "it does not answer"}`);
  }

  get state(): EngineState {
    return this.#state;
  }

  port(name: Port): PortState {
    const port = this.#ports[name];
    return name === "realtime" && this.areStreamsRefused ? { ...port, reason: STREAMS_REFUSED, nextTryAtMs: null } : port;
  }

  onState(listener: (state: EngineState) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** JSON text in, JSON text out. Rejects with CallError; `disconnected` at once when the engine is away. */
  async call(
    functionId: string,
    payload: string | undefined,
    options: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal } = {},
  ): Promise<string> {
    if (this.worker.connectionState !== "connected") {
      throw new CallError("disconnected", `the engine is not connected: ${this.#ports.bridge.reason ?? "the console is still trying"}`);
    }
    if (!this.mayAct) {
      throw new CallError("disconnected", "the console does not know yet whether the engine requires a login; try again");
    }
    if (this.#calls >= MAX_CALLS) throw new CallError("overloaded", `the console has ${MAX_CALLS} calls under way`);
    this.#calls++;
    try {
      return await this.worker.callJson({
        function_id: functionId,
        ...(payload === undefined ? {} : { payload }),
        ...(options.timeoutMs === undefined ? {} : { timeout_ms: options.timeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    } finally {
      this.#calls--;
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    clearTimeout(this.#retry);
    await Promise.all([this.worker.shutdown({ timeout_ms: 1_000 }), this.streams.close()]);
  }

  /** Which engine it is, after each connection. Pages hear of the connection and of the engine at once, and so never take a new one for the old. */
  async #learn(): Promise<void> {
    let reason: string | null = null;
    this.#failure = undefined;
    let mode: Mode | undefined;
    try {
      const info = JSON.parse(await this.worker.callJson({ function_id: "engine::info", payload: "{}", timeout_ms: INFO_TIMEOUT_MS })) as EngineInfo;
      // One that does not say is taken for one in production: a login is on the safe side.
      mode = info.mode ?? "production";
      this.#engine = { instance_id: info.instance_id, version: info.version, started_at_ms: info.started_at_ms };
    } catch (error) {
      reason = `the engine does not tell who it is: ${(error as Error).message}`;
      // Who may not even ask has no business without a login.
      if (CallError.is(error) && error.code === "FORBIDDEN") mode = "production";
    }
    if (this.worker.connectionState !== "connected") return;
    if (mode === undefined) this.#learnAgain();
    else {
      this.#mode = mode;
      this.#isModeCurrent = true;
    }
    this.#set("bridge", { state: "connected", reason, nextTryAtMs: null });
  }

  #learnAgain(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.worker.connectionState === "connected") void this.#learn();
    }, RECONNECT.maxDelayMs);
    this.#retry.unref();
  }

  /** Rejects when the engine is in another mode, or does not say in time. */
  async #untilDevelopment(askMode: EngineLinkOptions["askMode"], beforeConnect: (() => Promise<void>) | undefined): Promise<void> {
    await beforeConnect?.();
    await this.#until(() => this.#isModeCurrent || this.requiresLogin || this.#failure !== undefined, INFO_TIMEOUT_MS);
    if (!this.requiresLogin && (this.#isModeCurrent || (await askMode()) === "development")) return;
    if (this.requiresLogin) throw new Error("the engine requires a login");
    throw new Error(this.#failure?.reason ?? "the console does not know yet whether the engine requires a login");
  }

  /** Resolves when the condition holds after a change of state, or after a time. */
  #until(condition: () => boolean, timeoutMs: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(check);
        resolve();
      };
      const check = (): void => {
        if (condition()) end();
      };
      const timer = setTimeout(end, timeoutMs);
      timer.unref();
      this.#listeners.add(check);
    });
  }

  /** The SDK tells why a connection ended, and when it tries again, in its log only. */
  #listener(port: Port): Logger {
    return {
      ...silentLogger,
      warn: (_message, { reason, status, delay_ms: delayMs } = {}) => {
        if (typeof reason !== "string" || typeof delayMs !== "number") return;
        if (port === "bridge") this.#failed(reason, status);
        else if (status === 401 || status === 403) this.#areStreamsRefused = true;
        this.#set(port, { state: "disconnected", reason: inWords(reason), nextTryAtMs: Date.now() + delayMs });
      },
      error: (_message, { reason } = {}) => {
        if (typeof reason === "string") this.#set(port, { state: "disconnected", reason: inWords(reason), nextTryAtMs: null });
      },
    };
  }

  #failed(reason: string, status: unknown): void {
    this.#failure = { status: typeof status === "number" ? status : undefined, reason: inWords(reason) };
    if (this.isRefused) this.#mode = "refused";
  }

  #lost(port: Port): void {
    if (port === "bridge") this.#isModeCurrent = false;
    if (this.#ports[port].state === "connected") this.#set(port, { ...this.#ports[port], state: "disconnected" });
  }

  #set(port: Port, state: PortState): void {
    this.#ports[port] = state;
    this.#state = this.#compose();
    for (const listener of this.#listeners) listener(this.#state);
  }

  #compose(): EngineState {
    const [bridge, realtime] = [this.port("bridge"), this.port("realtime")];
    const named = [
      ["SDK bridge", bridge],
      ["WebSocket server", realtime],
    ] as const;
    const reasons = named.flatMap(([name, port]) => (port.reason === null ? [] : [`${name}: ${port.reason}`]));
    const tries = [bridge, realtime].flatMap((port) => (port.state === "connected" || port.nextTryAtMs === null ? [] : [port.nextTryAtMs]));
    return {
      bridge: bridge.state,
      realtime: this.areStreamsRefused ? "refused" : realtime.state,
      ...this.#engine,
      reason: reasons.length === 0 ? null : reasons.join("; "),
      next_try_at_ms: tries.length === 0 ? null : Math.min(...tries),
    };
  }
}

/** What the system's words for a failed connection mean. */
export function inWords(reason: string): string {
  if (reason.includes("ECONNREFUSED")) return "nothing listens there";
  if (reason.includes("ENOTFOUND") || reason.includes("EAI_AGAIN")) return "unknown host name";
  if (reason.includes("ETIMEDOUT") || reason.includes("EHOSTUNREACH")) return "the host does not answer";
  if (reason.includes("ECONNRESET")) return "the connection was cut";
  return reason;
}
