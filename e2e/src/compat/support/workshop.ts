import { afterAll } from "vitest";
import type { ConnectOptions, PublishedClient } from "./published-client.ts";
import { type ClientProcess, startClient } from "./published-client.ts";
import type { RawWorker } from "./raw-worker.ts";
import { connectRaw } from "./raw-worker.ts";
import { startWireTap, type WireTap, type WireTapOptions } from "./wire-tap.ts";

/** Makes what a test file needs and takes all of it away at the end, last made first. */
export interface Workshop {
  /** A client that is connected and has introduced itself. */
  connected(
    client: PublishedClient,
    address: string,
    options?: ConnectOptions,
    process?: { timeFactor?: number; env?: NodeJS.ProcessEnv },
  ): Promise<ClientProcess>;
  client(client: PublishedClient, process?: { timeFactor?: number; env?: NodeJS.ProcessEnv }): Promise<ClientProcess>;
  raw(address: string): Promise<RawWorker>;
  tap(engineAddress: string | undefined, options?: WireTapOptions): Promise<WireTap>;
}

/** Options that keep a client's own timers out of the way: no telemetry unless asked for, and quick attempts to come back. */
export const quiet: ConnectOptions = {
  otel: { enabled: false },
  enableMetricsReporting: false,
  reconnectionConfig: { initialDelayMs: 100, jitterFactor: 0 },
};

export function workshop(): Workshop {
  const undos: (() => unknown)[] = [];
  afterAll(async () => {
    for (const undo of undos.reverse()) await undo();
  });
  const made: Workshop = {
    async client(client, process) {
      const started = await startClient(client, process);
      undos.push(() => started.kill());
      return started;
    },
    async connected(client, address, options, process) {
      const started = await made.client(client, process);
      await started.run("connect", { address, options: { ...quiet, ...options } });
      // Answered by the engine, so it is connected; and the introduction, which goes out first or last on opening, has been handled.
      await started.run("trigger", { function_id: "engine::functions::list", payload: {} });
      return started;
    },
    async raw(address) {
      const worker = await connectRaw(address);
      undos.push(() => worker.close());
      return worker;
    },
    async tap(engineAddress, options) {
      const tap = await startWireTap(engineAddress, options);
      undos.push(() => tap.close());
      return tap;
    },
  };
  return made;
}
