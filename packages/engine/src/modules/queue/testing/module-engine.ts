import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../../../testing/in-memory-engine.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";
import { queue } from "../index.ts";
import { until } from "./queue-engine.ts";

export interface ModuleEngine {
  readonly engine: InMemoryEngine;
  readonly clock: ManualClock;
  call<T = Record<string, unknown>>(functionId: string, payload?: unknown): Promise<T>;
  /** Binds a function. Resolves with the registration's result. */
  bind(worker: InMemoryWorker, type: string, functionId: string, config: unknown): Promise<Record<string, unknown>>;
  /** Resolves when `check` returns true. The clock stands still meanwhile. */
  until(what: string, check: () => boolean | Promise<boolean>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an engine with svc-queue. It uses memory unless `dataDir` is set. */
export async function moduleEngine(
  options: {
    readonly queues?: Readonly<Record<string, unknown>>;
    readonly dataDir?: string;
    readonly clock?: ManualClock;
  } = {},
): Promise<ModuleEngine> {
  const clock = options.clock ?? manualClock();
  const { dataDir } = options;
  const engine = await inMemoryEngine({
    modules: [queue],
    config: {
      "svc-queue": {
        adapter: { name: dataDir === undefined ? "in_memory" : "file_based" },
        queue_configs: options.queues ?? {},
      },
    },
    clock,
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  let bindings = 0;
  return {
    engine,
    clock,
    call: async <T>(functionId: string, payload: unknown = {}) => (await engine.call(functionId, payload)) as T,
    bind(worker, type, functionId, config) {
      bindings += 1;
      const id = `binding-${bindings}`;
      worker.say({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config });
      return worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
    },
    until,
    stop: () => engine.stop(),
  };
}
