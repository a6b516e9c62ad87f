import type { QueueStats } from "@svc-runtime/protocol/listings";
import type { Worker } from "@svc-runtime/sdk";
import { didYouMean } from "../did-you-mean.ts";
import { codeOf } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";

/** Job counts of a queue, with the members that commands use. */
export type QueueCounts = Omit<QueueStats, "bytes" | "added" | "died" | "expired" | "cancelled" | "kept">;

export const LIST_QUEUES = "queue::list";

export async function listQueues(engine: Worker): Promise<readonly QueueCounts[]> {
  const { queues } = await engine.call<{ readonly queues: readonly QueueCounts[] }>({
    function_id: LIST_QUEUES,
    payload: {},
  });
  return queues;
}

/** Runs an action on one queue. If the queue does not exist, the error suggests the nearest name. */
export async function withQueue<Result>(engine: Worker, queue: string, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (codeOf(error) !== "queue_not_found") throw error;
    const known = (await listQueues(engine)).map(({ queue: name }) => name);
    throw new CommandFailure(`There is no queue ${queue}${(await didYouMean(queue, known)) || "."}`, {
      advice: [`Queues: ${known.join(", ")}`],
      cause: error,
    });
  }
}
