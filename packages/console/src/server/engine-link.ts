import { CallError, connect, connectStreams, type StreamClient, silentLogger, type Worker } from "@svc/sdk";
import type { EngineState } from "../contract/live.ts";

export interface EngineLinkOptions {
  /** `ws://` URLs. */
  readonly bridge: string;
  readonly realtime: string;
  readonly token: string | undefined;
}

/** How long the console waits at first for an answer to who the engine is, in milliseconds. */
const INFO_TIMEOUT_MS = 5_000;

interface EngineInfo {
  readonly version: string;
  readonly instance_id: string;
  readonly started_at_ms: number;
}

/** The console's two connections to the engine: as a worker over the bridge, and to its streams. Both are made again by themselves. */
export class EngineLink {
  readonly worker: Worker;
  readonly streams: StreamClient;
  #state: EngineState = {
    bridge: "connecting",
    realtime: "connecting",
    instance_id: null,
    version: null,
    started_at_ms: null,
    reason: null,
    next_try_at_ms: null,
  };
  readonly #listeners = new Set<(state: EngineState) => void>();

  constructor({ bridge, realtime, token }: EngineLinkOptions) {
    const headers = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
    this.worker = connect(bridge, { name: "svc-console", description: "The console", kind: "console", logger: silentLogger, handleSignals: false, ...headers });
    this.streams = connectStreams({ url: realtime, logger: silentLogger, ...(token === undefined ? {} : { token }) });
    this.worker.onConnectionState((state) => {
      this.#set({ bridge: state === "connected" ? "connected" : "disconnected" });
      if (state === "connected") void this.#learn();
    });
    this.streams.onConnectionState((state) => this.#set({ realtime: state === "connected" ? "connected" : "disconnected" }));
  }

  get state(): EngineState {
    return this.#state;
  }

  onState(listener: (state: EngineState) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** JSON text in, JSON text out. Rejects with CallError; `disconnected` at once when the engine is away. */
  async call(functionId: string, payload: string | undefined, timeoutMs: number | undefined): Promise<string> {
    if (this.#state.bridge !== "connected") throw new CallError("disconnected", "the console is not connected with the engine");
    return this.worker.callJson({
      function_id: functionId,
      ...(payload === undefined ? {} : { payload }),
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.worker.shutdown(), this.streams.close()]);
  }

  /** Which engine it is, after each connection. */
  async #learn(): Promise<void> {
    try {
      const info = JSON.parse(await this.worker.callJson({ function_id: "engine::info", payload: "{}", timeout_ms: INFO_TIMEOUT_MS })) as EngineInfo;
      this.#set({ instance_id: info.instance_id, version: info.version, started_at_ms: info.started_at_ms, reason: null });
    } catch (error) {
      this.#set({ reason: (error as Error).message });
    }
  }

  #set(change: Partial<EngineState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener(this.#state);
  }
}
