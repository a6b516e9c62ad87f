import type { Measure, Measurement } from "../../kernel/telemetry-contract.ts";
import type { QueueCore } from "./queue-core.ts";
import type { QueueCounts } from "./store/job.ts";

/** Maximum queues with metrics. */
const MAX_QUEUES = 500;

const GAUGES = [
  ["svc.queue.waiting", "Jobs that are ready or blocked by an earlier job of their group", "waiting"],
  ["svc.queue.delayed", "Delayed jobs", "delayed"],
  ["svc.queue.in_flight", "Running jobs", "active"],
  ["svc.queue.dead", "Dead letters", "dead"],
] as const;
const COUNTERS = [
  ["svc.queue.added", "Jobs added to the queue", "added"],
  ["svc.queue.done", "Jobs that succeeded", "done"],
  ["svc.queue.died", "Jobs moved to dead letters", "died"],
] as const;

/**
 * Measures the contents of queues, and counts the jobs since the module started. The store counts jobs since the first
 * use of a queue, so the counts at the start of the module are subtracted.
 */
export async function queueMeasure(core: Pick<QueueCore, "store">): Promise<Measure> {
  const counts = (): Promise<readonly QueueCounts[]> => core.store.call("counts", null);
  const before = new Map((await counts()).map((one) => [one.queue, one]));
  return async () => {
    const found: Measurement[] = [];
    for (const one of (await counts()).slice(0, MAX_QUEUES)) {
      const labels = { queue: one.queue };
      for (const [name, description, member] of GAUGES)
        found.push({ name, type: "gauge", description, labels, value: one[member] });
      for (const [name, description, member] of COUNTERS) {
        found.push({
          name,
          type: "counter",
          description,
          labels,
          value: one[member] - (before.get(one.queue)?.[member] ?? 0),
        });
      }
      found.push({
        name: "svc.queue.bytes",
        type: "gauge",
        unit: "By",
        description: "Size of the data of a queue's jobs",
        labels,
        value: one.bytes,
      });
    }
    return found;
  };
}
