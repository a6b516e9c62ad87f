import { Refusal } from "../../../store/procedures.ts";
import type { Maker, NewJob, QueueLimits } from "./job.ts";
import type { QueueRow, QueueTable } from "./queue-table.ts";
import { storedPrincipal } from "./share-table.ts";

/**
 * Returns two parts of a limit: `each` is for one restricted principal, `restricted` is for all restricted principals
 * together. The rest is reserved for trusted callers.
 */
export function sharesOf(limit: number): { readonly each: number; readonly restricted: number } {
  return { each: Math.max(1, Math.floor(limit / 8)), restricted: Math.max(1, Math.floor(limit / 2)) };
}

/**
 * Returns why the principal may not have one more job, or this many more bytes, on the queue; undefined if it may.
 * `isRedrive`: the job was a dead letter until now, so the number of dead letters is not checked.
 */
export function beyondShare(
  queue: QueueRow,
  { principal }: Maker,
  { bytes, limits, isRedrive }: Pick<NewJob, "bytes"> & { readonly limits: QueueLimits; readonly isRedrive?: boolean },
  queues: QueueTable,
): Refusal | undefined {
  const own = queues.shares.of(queue.id, storedPrincipal(principal));
  const { name } = queue;
  const kinds = [
    {
      key: "max_depth",
      what: "jobs",
      limit: limits.maxDepth,
      own: own.depth,
      all: queue.restricted_depth,
      more: 1,
      remedy: "wait until some of them have run",
    },
    {
      ...{
        key: "max_bytes",
        what: "bytes of data",
        limit: limits.maxBytes,
        own: own.bytes,
        all: queue.restricted_bytes,
        more: bytes,
      },
      remedy: "wait until some jobs have run, or discard dead letters",
    },
    {
      ...{
        key: "max_dead",
        what: "dead letters",
        limit: limits.maxDead,
        own: own.dead,
        all: queue.restricted_dead,
        more: isRedrive === true ? 0 : 1,
      },
      remedy: "redrive or discard some of them",
    },
  ];
  for (const { key, what, limit, own: has, all, more, remedy } of kinds) {
    if (more === 0) continue;
    const { each, restricted } = sharesOf(limit);
    const details = { queue: name, principal, [key]: limit };
    if (more > each) {
      const problem = `a job of ${more} ${what} exceeds the share of ${principal} on queue ${name}, ${each} (an eighth of ${key}): make the job smaller, raise ${key} of the queue, or use a queue of your own`;
      return new Refusal("queue_full", problem, { ...details, used: has, limit: each });
    }
    const advice = `${remedy}, raise ${key} of the queue, or use a queue of your own`;
    if (has + more > each) {
      const problem = `${principal} has ${has} ${what} on queue ${name}; a restricted principal may have ${each} (an eighth of ${key}): ${advice}`;
      return new Refusal("queue_full", problem, { ...details, used: has, limit: each });
    }
    if (all + more <= restricted) continue;
    // Failures may give a principal more dead letters than its share. Do not count the excess, so that it does not
    // reduce the room of other principals.
    const counted = key === "max_dead" ? queues.shares.deadWithin(queue.id, each) : all;
    if (counted + more > restricted) {
      const problem = `restricted principals together have ${counted} ${what} on queue ${name}, and may have ${restricted} (half of ${key}): ${advice}`;
      return new Refusal("queue_full", problem, { ...details, used: counted, limit: restricted });
    }
  }
  return undefined;
}
