import type { InMemoryWorker } from "../../../../testing/in-memory-engine.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Life } from "../simulated-node.ts";

const FUNCTION = "trigger::changed";

/** A call of the trigger's function for a change of an item. */
export interface TriggerCall {
  readonly key: string;
  readonly version: number;
  readonly life: Life;
  /** Run of the store of the engine that delivers. */
  readonly run: string;
  outcome: "running" | "done" | "failed";
}

export interface TriggerWatcher {
  onBegin(call: TriggerCall): void;
}

/** A state trigger that each node binds. Its function fails for some changes when they are first delivered. */
export class TriggerWorkload {
  readonly #scheduler: Scheduler;
  readonly #watcher: TriggerWatcher;

  constructor(scheduler: Scheduler, watcher: TriggerWatcher) {
    this.#scheduler = scheduler;
    this.#watcher = watcher;
  }

  /** Serves the function at a node, and binds the trigger. */
  serve(life: Life, worker: InMemoryWorker): void {
    const { random } = this.#scheduler;
    const failed = new Set<string>();
    worker.serve(FUNCTION, async (data) => {
      const { key, version } = data as { readonly key: string; readonly version: number };
      const run = life.stores.get("state.db")?.store.run ?? "";
      const call: TriggerCall = { key, version, life, run, outcome: "running" };
      this.#watcher.onBegin(call);
      const ms = random.chance(0.1) ? 3_000 : random.int(0, 200);
      await new Promise<void>((resolve) => void this.#scheduler.after(ms, life.process, "trigger ends", resolve));
      const change = `${key} ${version}`;
      call.outcome = !failed.has(change) && random.chance(0.1) ? "failed" : "done";
      if (call.outcome === "done") return null;
      failed.add(change);
      throw new Error("a test: the function of the trigger fails");
    });
    const config = { scope: "s" };
    worker.say({ type: "registertrigger", id: "changed", trigger_type: "state", function_id: FUNCTION, config });
  }
}
