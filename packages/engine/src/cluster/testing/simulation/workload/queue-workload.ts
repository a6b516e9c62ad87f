import type { InMemoryWorker } from "../../../../testing/in-memory-engine.ts";
import { callEngine } from "../client.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Life, RunningEngine } from "../simulated-node.ts";

export const QUEUE = "work";
const FUNCTION = "work::run";

/** Config of svc-queue. */
export const queueConfig = {
  queue_configs: { [QUEUE]: { concurrency: 3, max_attempts: 3, backoff_ms: 400, timeout_ms: 25_000 } },
};

interface JobData {
  /** Number of attempts that fail. */
  readonly fails: number;
  /** How long each attempt takes, in milliseconds. */
  readonly ms: number;
}

/** An attempt of a job, as the worker saw it. */
export interface Execution {
  readonly job: string;
  readonly attempt: number;
  readonly life: Life;
  /** Run of the store that leases the job. */
  readonly run: string;
  outcome: "running" | "done" | "failed";
}

export interface QueueWatcher {
  onBegin(execution: Execution): void;
}

/** Adds jobs, and runs them. */
export class QueueWorkload {
  readonly acknowledged = new Set<string>();
  readonly executions: Execution[] = [];
  readonly #scheduler: Scheduler;
  readonly #watcher: QueueWatcher;

  constructor(scheduler: Scheduler, watcher: QueueWatcher) {
    this.#scheduler = scheduler;
    this.#watcher = watcher;
  }

  async step(life: RunningEngine): Promise<void> {
    const { random } = this.#scheduler;
    if (this.acknowledged.size > 0 && random.chance(0.25)) {
      await callEngine(this.#scheduler, life, "queue::cancel", { job_id: [...this.acknowledged].at(-1) });
      return;
    }
    const job = (): unknown => ({
      queue: QUEUE,
      function_id: FUNCTION,
      data: { fails: random.pick([0, 0, 0, 1, 2, 9]), ms: random.next() < 0.1 ? 8_000 : random.int(0, 800) },
      ...(random.chance(0.5) ? { group: random.pick(["g1", "g2"]) } : {}),
      ...(random.chance(0.3) ? { priority: random.int(0, 5) } : {}),
      ...(random.chance(0.3) ? { delay_ms: random.int(1, 3_000) } : {}),
    });
    if (random.chance(0.8)) {
      const outcome = await callEngine(this.#scheduler, life, "queue::enqueue", job());
      if (outcome.status === "ok") this.acknowledged.add((outcome.output as { job_id: string }).job_id);
      return;
    }
    const outcome = await callEngine(this.#scheduler, life, "queue::enqueue_many", { jobs: [job(), job(), job()] });
    if (outcome.status !== "ok") return;
    for (const { job_id } of (outcome.output as { jobs: { job_id: string }[] }).jobs) this.acknowledged.add(job_id);
  }

  /** Serves the function of the jobs at a node. */
  serve(life: Life, worker: InMemoryWorker): void {
    worker.serve(FUNCTION, async (data, frame) => {
      const { fails, ms } = data as JobData;
      const { id, attempt } = frame.job as { readonly id: string; readonly attempt: number };
      const run = life.stores.get("queue.db")?.store.run ?? "";
      const execution: Execution = { job: id, attempt, life, run, outcome: "running" };
      this.executions.push(execution);
      this.#watcher.onBegin(execution);
      await new Promise<void>((resolve) => void this.#scheduler.after(ms, life.process, "job ends", resolve));
      execution.outcome = attempt <= fails ? "failed" : "done";
      if (attempt <= fails) throw new Error("a test: the attempt fails");
      return attempt;
    });
  }
}
