import type { QueueCore } from "./queue-core.ts";

/** Maximum functions for which a similar name is searched, because each search compares all functions. */
const MAX_SUGGESTIONS = 10;

/**
 * Returns why no worker can run the jobs of a queue that call the function; undefined if a worker can. If `functionId`
 * is undefined, this is about the jobs that name no function, which the queue's triggers run.
 */
export type NoWorkerReasonOf = (queue: string, functionId: string | undefined) => string | undefined;

/** Returns a function that caches the reasons it finds. `mayNameOthers`: see `NoWorkerReasonOptions`. */
export function noWorkerReasons(core: Pick<QueueCore, "noWorkerReason">, mayNameOthers: boolean): NoWorkerReasonOf {
  const found = new Map<string, string | undefined>();
  return (queue, functionId) => {
    const key = JSON.stringify([queue, functionId]);
    if (!found.has(key))
      found.set(
        key,
        core.noWorkerReason(queue, functionId, { mayNameOthers, withSuggestion: found.size < MAX_SUGGESTIONS }),
      );
    return found.get(key);
  };
}

/** Returns the reasons that apply to jobs of a queue, without duplicates. */
export function reasonsAmong(
  jobs: readonly { readonly functionId: string | undefined }[],
  queue: string,
  reasonOf: NoWorkerReasonOf,
): readonly string[] {
  return [...new Set(jobs.flatMap(({ functionId }) => reasonOf(queue, functionId) ?? []))];
}
