import {
  CallError,
  connect,
  connectStreams,
  type Logger,
  type StreamClient,
  silentLogger,
  type Worker,
} from "@svc-runtime/sdk";
import type { EngineState } from "../contract/live.ts";

export interface EngineLinkOptions {
  /** `ws://` URLs. */
  readonly bridge: string;
  readonly realtime: string;
  readonly token: string | undefined;
  /** Name of the console as a worker, and service name of its traces. */
  readonly serviceName: string;
  /** True if the console may send its own spans. */
  readonly sendsSpans: boolean;
  /**
   * If true, no calls are made and no streams are joined unless the engine is in development mode. In other modes, the
   * console must not act with its own token, because a login decides the user's rights.
   */
  readonly needsDevelopment: boolean;
  /**
   * Asks for the engine's mode without using the bridge. The bridge may be unreachable, for example because of a wrong
   * port.
   */
  readonly askMode: () => Promise<"development" | "production" | undefined>;
  /** Called before each connection attempt. If it throws, the attempt fails. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/** Timeout of the request for the engine's identity, in milliseconds. */
const IDENTIFY_TIMEOUT_MS = 5_000;
/** Timeout of a login's connection to the engine, in milliseconds. */
const ADMISSION_TIMEOUT_MS = 10_000;
const TOKEN_REFUSED =
  "the engine does not accept this token; tokens of roles work only on the listener that lists them, see --bridge-port";
/** Message for a token that may not join streams. */
export const STREAMS_REFUSED = "live updates need the engine's own token";
/** Delays between connection attempts. They are shorter than those of a worker, because a user is waiting. */
const RECONNECT = { initialDelayMs: 500, multiplier: 1.5, maxDelayMs: 5_000 } as const;
/**
 * Maximum number of concurrent calls of pages. Further calls are rejected, so that calls do not pile up if the engine
 * does not respond.
 */
const MAX_CALLS = 500;

interface EngineInfo {
  readonly mode?: "development" | "production";
  readonly version: string;
  readonly instance_id: string;
  readonly started_at_ms: number;
}

/**
 * Mode of the engine that was connected last. `refused` means that it accepts no connection without a token, or not
 * with this token.
 */
type Mode = "unknown" | "development" | "production" | "refused";

/** State of the connection to the bridge or to the port of the streams. */
export interface PortState {
  readonly state: EngineState["bridge"];
  /** Reason for users why there is no connection. */
  readonly reason: string | null;
  readonly nextTryAtMs: number | null;
}

type Port = "bridge" | "realtime";

/**
 * The console's two connections to the engine: as a worker at the bridge, and as a client of its streams. Both
 * reconnect automatically.
 */
export class EngineLink {
  readonly worker: Worker;
  readonly streams: StreamClient;
  readonly #ports: Record<Port, PortState> = {
    bridge: { state: "connecting", reason: null, nextTryAtMs: null },
    realtime: { state: "connecting", reason: null, nextTryAtMs: null },
  };
  #engine: Pick<EngineState, "instance_id" | "version" | "started_at_ms"> = {
    instance_id: null,
    version: null,
    started_at_ms: null,
  };
  #state: EngineState;
  #calls = 0;
  readonly #listeners = new Set<(state: EngineState) => void>();
  readonly #needsDevelopment: boolean;
  #mode: Mode = "unknown";
  /** True if `#mode` belongs to the current connection. */
  #isModeCurrent = false;
  #retry: NodeJS.Timeout | undefined;
  /** True if the engine rejected the token at the last attempt to connect to its streams. */
  #areStreamsRefused = false;
  #failure: { readonly status: number | undefined; readonly reason: string } | undefined;

  constructor({
    bridge,
    realtime,
    token,
    serviceName,
    sendsSpans,
    needsDevelopment,
    askMode,
    beforeConnect,
  }: EngineLinkOptions) {
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
      if (state === "connected") void this.#identify();
      else this.#lost("bridge");
    });
    this.streams.onConnectionState((state) => {
      if (state === "connected") {
        this.#areStreamsRefused = false;
        this.#set("realtime", { state: "connected", reason: null, nextTryAtMs: null });
      } else this.#lost("realtime");
    });
  }

  /** True if the engine is not in development mode, so that users must log in. */
  get requiresLogin(): boolean {
    return this.#mode === "production" || this.#mode === "refused";
  }

  /** True if the console is connected to an engine whose mode allows it to act. */
  get mayAct(): boolean {
    return (
      this.#ports.bridge.state === "connected" &&
      (!this.#needsDevelopment || (this.#isModeCurrent && this.#mode === "development"))
    );
  }

  /** True if the engine rejects the token. */
  get isRefused(): boolean {
    return this.#failure?.status === 401;
  }

  /** True if the engine accepts the token for calls but not for streams. This is so for tokens of roles. */
  get areStreamsRefused(): boolean {
    return this.#areStreamsRefused && this.#ports.bridge.state === "connected";
  }

  /**
   * Resolves when the engine has accepted the connection. Otherwise rejects with CallError: `AUTH_ERROR` or
   * `disconnected`.
   */
  async admitted(): Promise<void> {
    await this.#until(
      () => this.#ports.bridge.state === "connected" || this.#failure !== undefined,
      ADMISSION_TIMEOUT_MS,
    );
    if (this.#ports.bridge.state === "connected") return;
    if (this.isRefused) throw new CallError("AUTH_ERROR", TOKEN_REFUSED);
    throw new CallError(
      "disconnected",
      `the engine cannot check the token: ${this.#failure?.reason ?? "it does not respond"}`,
    );
  }

  get state(): EngineState {
    return this.#state;
  }

  port(name: Port): PortState {
    const port = this.#ports[name];
    return name === "realtime" && this.areStreamsRefused
      ? { ...port, reason: STREAMS_REFUSED, nextTryAtMs: null }
      : port;
  }

  onState(listener: (state: EngineState) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Calls a function. Payload and result are JSON text. Rejects with CallError. If the engine is not connected, it
   * rejects at once with `disconnected`.
   */
  async call(
    functionId: string,
    payload: string | undefined,
    options: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal } = {},
  ): Promise<string> {
    if (this.worker.connectionState !== "connected") {
      throw new CallError(
        "disconnected",
        `the engine is not connected: ${this.#ports.bridge.reason ?? "the console is still trying"}`,
      );
    }
    if (!this.mayAct) {
      throw new CallError(
        "disconnected",
        "the console does not know yet whether the engine requires a login; try again",
      );
    }
    if (this.#calls >= MAX_CALLS) throw new CallError("overloaded", `the console has ${MAX_CALLS} calls in flight`);
    this.#calls++;
    try {
      return await this.worker.callJson({
        function_id: functionId,
        ...(payload === undefined ? {} : { payload }),
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    } finally {
      this.#calls--;
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    clearTimeout(this.#retry);
    await Promise.all([this.worker.shutdown({ timeoutMs: 1_000 }), this.streams.close()]);
  }

  /**
   * Asks the engine for its identity after each connection. Pages get the connection state and the identity in one
   * update, so that they never take a new engine for the old one.
   */
  async #identify(): Promise<void> {
    let reason: string | null = null;
    this.#failure = undefined;
    let mode: Mode | undefined;
    try {
      const info = JSON.parse(
        await this.worker.callJson({ function_id: "engine::info", payload: "{}", timeoutMs: IDENTIFY_TIMEOUT_MS }),
      ) as EngineInfo;
      // An engine that reports no mode is treated as in production, because requiring a login is the safer choice.
      mode = info.mode ?? "production";
      this.#engine = { instance_id: info.instance_id, version: info.version, started_at_ms: info.started_at_ms };
    } catch (error) {
      reason = `the engine does not identify itself: ${(error as Error).message}`;
      // A caller that may not even ask for the identity must log in.
      if (CallError.is(error) && error.code === "FORBIDDEN") mode = "production";
    }
    if (this.worker.connectionState !== "connected") return;
    if (mode === undefined) this.#identifyAgain();
    else {
      this.#mode = mode;
      this.#isModeCurrent = true;
    }
    this.#set("bridge", { state: "connected", reason, nextTryAtMs: null });
  }

  #identifyAgain(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.worker.connectionState === "connected") void this.#identify();
    }, RECONNECT.maxDelayMs);
    this.#retry.unref();
  }

  /**
   * Waits until the engine is known to be in development mode. Rejects if it has another mode or does not respond in
   * time.
   */
  async #untilDevelopment(
    askMode: EngineLinkOptions["askMode"],
    beforeConnect: (() => Promise<void>) | undefined,
  ): Promise<void> {
    await beforeConnect?.();
    await this.#until(
      () => this.#isModeCurrent || this.requiresLogin || this.#failure !== undefined,
      IDENTIFY_TIMEOUT_MS,
    );
    if (!this.requiresLogin && (this.#isModeCurrent || (await askMode()) === "development")) return;
    if (this.requiresLogin) throw new Error("the engine requires a login");
    throw new Error(this.#failure?.reason ?? "the console does not know yet whether the engine requires a login");
  }

  /** Resolves when the condition is true after a state change, or after the timeout. */
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

  /**
   * Returns a logger that reads what the SDK logs. The SDK reports the reason of a disconnect and the time of the next
   * attempt only in its log.
   */
  #listener(port: Port): Logger {
    return {
      ...silentLogger,
      warn: (_message, { reason, status, delay_ms: delayMs } = {}) => {
        if (typeof reason !== "string" || typeof delayMs !== "number") return;
        if (port === "bridge") this.#failed(reason, status);
        else if (status === 401 || status === 403) this.#areStreamsRefused = true;
        this.#set(port, { state: "disconnected", reason: readableReason(reason), nextTryAtMs: Date.now() + delayMs });
      },
      error: (_message, { reason } = {}) => {
        if (typeof reason === "string")
          this.#set(port, { state: "disconnected", reason: readableReason(reason), nextTryAtMs: null });
      },
    };
  }

  #failed(reason: string, status: unknown): void {
    this.#failure = { status: typeof status === "number" ? status : undefined, reason: readableReason(reason) };
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
    const attempts = [bridge, realtime].flatMap((port) =>
      port.state === "connected" || port.nextTryAtMs === null ? [] : [port.nextTryAtMs],
    );
    return {
      bridge: bridge.state,
      realtime: this.areStreamsRefused ? "refused" : realtime.state,
      ...this.#engine,
      reason: reasons.length === 0 ? null : reasons.join("; "),
      next_try_at_ms: attempts.length === 0 ? null : Math.min(...attempts),
    };
  }
}

/** Converts a system error code to readable text. */
export function readableReason(reason: string): string {
  if (reason.includes("ECONNREFUSED")) return "nothing listens there";
  if (reason.includes("ENOTFOUND") || reason.includes("EAI_AGAIN")) return "unknown host name";
  if (reason.includes("ETIMEDOUT") || reason.includes("EHOSTUNREACH")) return "the host does not respond";
  if (reason.includes("ECONNRESET")) return "the connection was cut";
  return reason;
}
