import type { Measure, Measurement } from "../../kernel/telemetry-contract.ts";
import type { QueueCore } from "./queue-core.ts";
import type { QueueCounts } from "./store/job.ts";

/** Queues that are told by name. */
const MAX_QUEUES = 500;

const GAUGES = [
  ["svc.queue.waiting", "Jobs that are ready or behind another of their group", "waiting"],
  ["svc.queue.delayed", "Jobs whose time has not come", "delayed"],
  ["svc.queue.in_flight", "Jobs that run", "active"],
  ["svc.queue.dead", "Dead letters", "dead"],
] as const;
const COUNTERS = [
  ["svc.queue.added", "Jobs that were put on the queue", "added"],
  ["svc.queue.done", "Jobs that succeeded", "done"],
  ["svc.queue.died", "Jobs that became dead letters", "died"],
] as const;

/** What queues hold, and what became of their jobs since the module started; the store counts since a queue was first used. */
export async function queueMeasure(core: Pick<QueueCore, "store">): Promise<Measure> {
  const counts = (): Promise<readonly QueueCounts[]> => core.store.call("counts", null);
  const before = new Map((await counts()).map((one) => [one.queue, one]));
  return async () => {
    const found: Measurement[] = [];
    for (const one of (await counts()).slice(0, MAX_QUEUES)) {
      const labels = { queue: one.queue };
      for (const [name, description, member] of GAUGES) found.push({ name, type: "gauge", description, labels, value: one[member] });
      for (const [name, description, member] of COUNTERS) {
        found.push({ name, type: "counter", description, labels, value: one[member] - (before.get(one.queue)?.[member] ?? 0) });
      }
      found.push({ name: "svc.queue.bytes", type: "gauge", unit: "By", description: "Data of a queue's jobs", labels, value: one.bytes });
    }
    return found;
  };
}
