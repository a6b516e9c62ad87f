import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Payload } from "@svc-runtime/protocol";
import { defineModule } from "../../../kernel/module.ts";
import type { OpenStore } from "../../../kernel/store-contract.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../../testing/in-memory-engine.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";
import { type QueueConfig, queueConfigSchema } from "../config.ts";
import type { JobRequest, QueueCore } from "../queue-core.ts";
import { startQueueCore } from "../start-queue-core.ts";
import { openQueueStore } from "../store/open-queue-store.ts";
import type { QueueStore } from "../store/queue-store.ts";

export interface QueueEngine {
  readonly engine: InMemoryEngine;
  readonly core: QueueCore;
  readonly clock: ManualClock;
  /** Adds a job. Resolves with its id. */
  add(functionId: string | undefined, data: unknown, more?: Partial<JobRequest>): Promise<string>;
  /** Resolves when `check` returns true. The clock stands still meanwhile. */
  until(what: string, check: () => boolean | Promise<boolean>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the core of svc-queue on a real kernel, without its functions. It uses memory unless `dataDir` is set. */
export async function queueEngine(
  queues: Readonly<Record<string, unknown>> = {},
  options: {
    readonly dataDir?: string;
    readonly clock?: ManualClock;
    readonly around?: (store: QueueStore) => QueueStore;
    readonly openStore?: OpenStore | undefined;
  } = {},
): Promise<QueueEngine> {
  const clock = options.clock ?? manualClock();
  const { dataDir, openStore } = options;
  let core: QueueCore | undefined;
  const module = defineModule<QueueConfig>({
    name: "svc-queue",
    summary: "under test",
    config: queueConfigSchema,
    async start(context) {
      const opened = await openQueueStore(context.config.adapter, context);
      const store = options.around?.(opened) ?? opened;
      core = await startQueueCore(context, store);
      for (const [name, settings] of context.config.queues) core.declare(name, settings);
      return { stop: () => core?.stop() };
    },
  });
  const adapter = { name: dataDir === undefined ? "in_memory" : "file_based" };
  const engine = await inMemoryEngine({
    modules: [module],
    config: { "svc-queue": { adapter, queue_configs: queues } },
    clock,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(openStore === undefined ? {} : { openStoreOf: () => openStore }),
  });
  if (core === undefined) throw new Error("the core did not start");
  const running = core;
  return {
    engine,
    core: running,
    clock,
    async add(functionId, data, more = {}) {
      const [added] = await running.add([{ queue: "default", functionId, data: Payload.fromValue(data), ...more }]);
      return added?.id ?? "";
    },
    until,
    stop: () => engine.stop(),
  };
}

/** Resolves when `check` returns true. The clock stands still meanwhile. */
export async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 25_000;
  for (let turn = 0; !(await check()); turn++) {
    if (performance.now() > end) throw new Error(`timed out after 25 s: ${what}`);
    // Longer waits leave the processor to what is waited for, e.g. the thread of a store.
    await new Promise((resolve) => (turn < 50 ? setImmediate(resolve) : setTimeout(resolve, 1)));
  }
}

/** Creates a temporary folder. `remove` deletes it. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "svc-queue-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
