import { CallError, Payload } from "@svc/protocol";
import type { QueueStats } from "@svc/protocol/listings";
import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import type { JobState, JobView, QueueCounts } from "../store/job.ts";
import { subscriptionOfQueue } from "../topics/queue-name.ts";
import { jobId, peekInput, queueName } from "./inputs.ts";
import { jobJson, jobShape, statsShape } from "./outputs.ts";

/** Maximum bytes of data per page. */
export const PAGE_BYTES = 8 * 1024 * 1024;

/** Provides the functions that read queues and change nothing. */
export function provideInspectFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  core: QueueCore,
): void {
  function statsOf(counts: QueueCounts): QueueStats {
    const settings = core.settingsOf(counts.queue);
    return {
      ...counts,
      type: settings?.type ?? null,
      concurrency: settings?.concurrency ?? null,
      topic: subscriptionOfQueue(counts.queue)?.topic ?? null,
    };
  }

  provideFunction({
    id: "queue::list",
    summary:
      "Lists queues with their counts: declared queues, queues of subscriptions, and other queues that still hold jobs",
    input: z.strictObject({}),
    output: z.object({ queues: z.array(statsShape) }),
    async handle() {
      const used = await core.store.call("counts", null);
      const holding = used.filter(
        ({ queue, waiting, delayed, active, dead }) =>
          core.settingsOf(queue) === undefined && waiting + delayed + active + dead > 0,
      );
      const byName = new Map(used.map((counts) => [counts.queue, counts]));
      const declared = await Promise.all(core.names().map(async (name) => byName.get(name) ?? core.counts(name)));
      return { queues: [...declared, ...holding].map(statsOf) };
    },
  });
  provideFunction({
    id: "queue::stats",
    summary: "Returns the counts of a queue",
    input: z.strictObject({ queue: queueName }),
    output: statsShape,
    async handle({ queue }) {
      await refuseUnknown(core, queue);
      return statsOf(await core.counts(queue));
    },
  });
  provideFunction({
    id: "queue::peek",
    summary: "Returns a page of a queue's jobs in one state, without removing them",
    input: peekInput,
    output: z.object({ jobs: z.array(jobShape), cursor: z.string().nullable() }),
    async handle({ queue, state, cursor, limit }) {
      await refuseUnknown(core, queue);
      const after = cursor == null ? undefined : positionOf(cursor);
      const jobs = await core.store.call("peek", { queue, state, after, limit, maxBytes: PAGE_BYTES });
      const last = jobs.at(-1);
      const place = last === undefined ? undefined : positionAfter(last, state);
      // A page may end because of its bytes, so its length does not show whether it is the last.
      const next =
        place === undefined ? [] : await core.store.call("peek", { queue, state, after: place, limit: 1, maxBytes: 0 });
      const on = place === undefined || next.length === 0 ? null : `${place.seq}.${place.at}`;
      return Payload.fromText(`{"jobs":[${jobs.map(jobJson).join(",")}],"cursor":${JSON.stringify(on)}}`);
    },
  });
  provideFunction({
    id: "queue::get_job",
    summary:
      "Returns a job. For a job that has ended, returns only its final state, while its dedupe key is remembered",
    input: z.strictObject({ job_id: jobId }),
    output: z.union([
      jobShape,
      z.object({ job_id: z.string(), queue: z.string(), state: z.enum(["done", "cancelled", "expired"]) }),
    ]),
    async handle({ job_id }) {
      const found = await core.store.call("job", job_id);
      if (found === undefined)
        throw new CallError("job_not_found", `there is no job ${job_id}; it may have ended`, { details: { job_id } });
      return "ended" in found ? { job_id, queue: found.queue, state: found.ended } : Payload.fromText(jobJson(found));
    },
  });
}

/** Rejects with CallError `queue_not_found` for a queue that is not declared and was never used. */
export async function refuseUnknown(core: QueueCore, queue: string): Promise<void> {
  if (core.settingsOf(queue) !== undefined || (await core.store.call("countsOf", queue)) !== undefined) return;
  throw new CallError("queue_not_found", `Queue '${queue}' not found`, { details: { queue } });
}

function positionAfter(
  { seq, runAt, failedAt }: JobView,
  state: JobState,
): { readonly seq: number; readonly at: number } {
  const at = state === "delayed" ? runAt : state === "dead" ? failedAt : 0;
  return { seq, at: at ?? 0 };
}

function positionOf(cursor: string): { readonly seq: number; readonly at: number } {
  const [seq, at] = (/^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? []).slice(1).map(Number);
  if (seq === undefined || at === undefined)
    throw new CallError("invalid_input", "queue::peek: `cursor`: is not the cursor of a page");
  return { seq, at };
}
