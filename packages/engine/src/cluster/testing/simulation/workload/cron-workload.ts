import type { InMemoryWorker } from "../../../../testing/in-memory-engine.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Life } from "../simulated-node.ts";

/** Time between two ticks, in milliseconds. */
export const TICK_MS = 3_000;

export interface CronPolicy {
  readonly overlap: "skip" | "allow" | "queue_one";
  readonly misfire: "skip" | "once" | "all";
}

/** A call of the function of a trigger. */
export interface CronCall {
  readonly functionId: string;
  readonly instant: string;
  readonly node: string;
}

/** Cron triggers that each node binds. */
export class CronWorkload {
  readonly policies: readonly [CronPolicy, ...CronPolicy[]];
  readonly calls: CronCall[] = [];
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    const { random } = scheduler;
    this.policies = [
      { overlap: "allow", misfire: "all" },
      { overlap: random.pick(["skip", "queue_one"]), misfire: random.pick(["skip", "once", "all"]) },
    ];
  }

  static functionOf({ overlap, misfire }: CronPolicy): string {
    return `tick::${overlap}_${misfire}`;
  }

  /** Serves the functions at a node, and binds the triggers. */
  serve(life: Life, worker: InMemoryWorker): void {
    for (const policy of this.policies) {
      const functionId = CronWorkload.functionOf(policy);
      worker.serve(functionId, async (data) => {
        const { scheduled_time: instant } = data as { readonly scheduled_time: string };
        this.calls.push({ functionId, instant, node: life.process.name });
        const ms = this.#scheduler.random.chance(0.2) ? 4_000 : this.#scheduler.random.int(0, 500);
        await new Promise<void>((resolve) => void this.#scheduler.after(ms, life.process, "tick ends", resolve));
      });
      const config = { expression: "*/3 * * * * *", ...policy };
      worker.say({ type: "registertrigger", id: functionId, trigger_type: "cron", function_id: functionId, config });
    }
  }
}
