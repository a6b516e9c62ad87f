import { callEngine } from "../client.ts";
import type { Scheduler } from "../scheduler.ts";
import type { RunningEngine } from "../simulated-node.ts";

const STREAM = { stream_name: "s", group_id: "g" };

/** Writes items of a stream. */
export class StreamWorkload {
  readonly #scheduler: Scheduler;
  /** Items whose last write was acknowledged, with its version. */
  readonly acknowledged = new Map<string, number>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  async step(life: RunningEngine): Promise<void> {
    const { random } = this.#scheduler;
    const item_id = random.pick(["i1", "i2", "i3"]);
    const isDelete = random.chance(0.15);
    const outcome = await callEngine(this.#scheduler, life, isDelete ? "stream::delete" : "stream::set", {
      ...STREAM,
      item_id,
      ...(isDelete ? {} : { data: { n: random.int(1, 1_000_000) } }),
    });
    if (outcome.status !== "ok" || isDelete) return;
    const { version } = outcome.output as { readonly version: number };
    this.acknowledged.set(item_id, Math.max(version, this.acknowledged.get(item_id) ?? 0));
  }
}
