import { afterAll, afterEach, beforeEach } from "vitest";
import type { ConnectOptions, PublishedClient } from "./published-client.ts";
import { type ClientProcess, startClient } from "./published-client.ts";
import type { RawWorker } from "./raw-worker.ts";
import { connectRaw } from "./raw-worker.ts";
import { startWireTap, type WireTap, type WireTapOptions } from "./wire-tap.ts";

/** Creates what a test file needs and removes it at the end, in reverse order. */
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

/** Options that disable a client's timers: no telemetry by default, and quick reconnects. */
export const quiet: ConnectOptions = {
  otel: { enabled: false },
  enableMetricsReporting: false,
  reconnectionConfig: { initialDelayMs: 100, jitterFactor: 0 },
};

export function workshop(): Workshop {
  const undos: (() => unknown)[] = [];
  // Starting a client's process takes longer than most tests, so tests reuse the processes.
  const idle: ClientProcess[] = [];
  afterAll(async () => {
    for (const undo of undos.reverse()) await undo();
  });

  /** Processes of the running test. Undefined in a hook, whose processes stay for the tests of its block. */
  let borrowed: ClientProcess[] | undefined;
  beforeEach(() => {
    borrowed = [];
  });
  afterEach(async () => {
    const workers = borrowed ?? [];
    borrowed = undefined;
    await Promise.all(workers.map(async (worker) => (await worker.reset()) && idle.push(worker)));
  });

  const made: Workshop = {
    async client(client, process) {
      const started = await startClient(client, process);
      undos.push(() => started.kill());
      return started;
    },
    async connected(client, address, options, process) {
      const at = process === undefined ? idle.findIndex((worker) => worker.client === client) : -1;
      const worker = idle.splice(at, at === -1 ? 0 : 1)[0] ?? (await made.client(client, process));
      if (process === undefined) borrowed?.push(worker);
      await worker.run("connect", { address, options: { ...quiet, ...options } });
      // The engine has answered, so the client is connected, and its introduction, which is sent first or last on
      // opening, was handled.
      await settled(worker);
      return worker;
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

/** Registers a function. Resolves when it can be called. */
export async function offer(
  worker: ClientProcess,
  id: string,
  behaviour: Readonly<Record<string, unknown>>,
  options?: Readonly<Record<string, unknown>>,
): Promise<string> {
  await worker.run("registerFunction", { id, behaviour, options });
  await settled(worker);
  return id;
}

/** Resolves when the engine has handled everything that the client sent so far: it reads one socket in order. */
export async function settled(worker: ClientProcess): Promise<void> {
  await worker.run("trigger", { function_id: "engine::functions::list", payload: {} });
}
