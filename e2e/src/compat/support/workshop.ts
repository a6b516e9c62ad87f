import { afterAll, afterEach, beforeEach } from "vitest";
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
  // Starting a client's process takes longer than most tests, so a test hands its processes to the next one.
  const idle: ClientProcess[] = [];
  afterAll(async () => {
    for (const undo of undos.reverse()) await undo();
  });

  /** Processes of the test that runs; undefined in a hook, whose processes stay for the tests of its block. */
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
      // Answered by the engine, so it is connected; and the introduction, which goes out first or last on opening, has been handled.
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

/** Offers a function; resolves when it can be called. */
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

/** Resolves when the engine has handled everything that the client said so far: it reads one socket in order. */
export async function settled(worker: ClientProcess): Promise<void> {
  await worker.run("trigger", { function_id: "engine::functions::list", payload: {} });
}
