import { CallError, Payload } from "@svc-runtime/protocol";
import type { QueueStats } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import type { CallerAccess, ModuleContext } from "../../../kernel/module.ts";
import { type NoWorkerReasonOf, noWorkerReasons, reasonsAmong } from "../no-worker-reasons.ts";
import type { QueueCore } from "../queue-core.ts";
import type { JobState, JobView, QueueCounts } from "../store/job.ts";
import { subscriptionOfQueue } from "../topics/queue-name.ts";
import { jobId, peekInput, queueName } from "./inputs.ts";
import { doneJobShape, jobJson, jobShape, statsShape } from "./outputs.ts";

/** Maximum bytes of data per page. */
export const PAGE_BYTES = 8 * 1024 * 1024;

/** Provides the functions that read queues and change nothing. */
export function provideInspectFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  core: QueueCore,
): void {
  const reasonsFor = (access: CallerAccess | undefined): NoWorkerReasonOf =>
    noWorkerReasons(core, access === undefined);
  const reasonsForCounts = (access: CallerAccess | undefined): NoWorkerReasonOf =>
    access === undefined ? reasonsFor(access) : withoutFunctionIds(reasonsFor(access));

  async function statsOf(counts: QueueCounts, reasonOf: NoWorkerReasonOf): Promise<QueueStats> {
    const { queue, waiting, paused } = counts;
    const ready = waiting === 0 || paused ? [] : await core.store.call("oldestReady", queue);
    const settings = core.settingsOf(queue);
    return {
      ...counts,
      type: settings?.type ?? null,
      concurrency: settings?.concurrency ?? null,
      topic: subscriptionOfQueue(queue)?.topic ?? null,
      waiting_reasons: reasonsAmong(ready, queue, reasonOf),
    };
  }

  provideFunction({
    id: "queue::list",
    summary:
      "Lists queues with their counts: declared queues, queues of subscriptions, and other queues that still hold jobs",
    polled: true,
    input: z.strictObject({}),
    output: z.object({ queues: z.array(statsShape) }),
    async handle(_, { access }) {
      const used = await core.store.call("counts", null);
      const holding = used.filter(
        ({ queue, waiting, delayed, active, dead }) =>
          core.settingsOf(queue) === undefined && waiting + delayed + active + dead > 0,
      );
      const byName = new Map(used.map((counts) => [counts.queue, counts]));
      const declared = await Promise.all(core.names().map(async (name) => byName.get(name) ?? core.counts(name)));
      const reasonOf = reasonsForCounts(access);
      const shown = [...declared, ...holding];
      return { queues: await Promise.all(shown.map((counts) => statsOf(counts, reasonOf))) };
    },
  });
  provideFunction({
    id: "queue::stats",
    summary: "Returns the counts of a queue",
    polled: true,
    input: z.strictObject({ queue: queueName }),
    output: statsShape,
    async handle({ queue }, { access }) {
      await refuseUnknown(core, queue);
      return statsOf(await core.counts(queue), reasonsForCounts(access));
    },
  });
  provideFunction({
    id: "queue::peek",
    summary: "Returns a page of a queue's jobs in one state, without removing them",
    polled: true,
    input: peekInput,
    output: z.object({ jobs: z.array(z.union([jobShape, doneJobShape])), cursor: z.string().nullable() }),
    async handle({ queue, state, cursor, limit }, { access }) {
      await refuseUnknown(core, queue);
      const after = cursor == null ? undefined : positionOf(cursor);
      const jobs = await core.store.call("peek", { queue, state, after, limit, maxBytes: PAGE_BYTES });
      const last = jobs.at(-1);
      const place = last === undefined ? undefined : positionAfter(last, state);
      // A page that reaches the byte limit is short but not the last page. So ask the store whether a job follows.
      const next =
        place === undefined ? [] : await core.store.call("peek", { queue, state, after: place, limit: 1, maxBytes: 0 });
      const on = place === undefined || next.length === 0 ? null : `${place.seq}.${place.at}`;
      const view = { core, reasonOf: reasonsFor(access) };
      return Payload.fromText(
        `{"jobs":[${jobs.map((job) => jobJson(job, view)).join(",")}],"cursor":${JSON.stringify(on)}}`,
      );
    },
  });
  provideFunction({
    id: "queue::get_job",
    summary:
      "Returns a job: of one in flight also its progress, of a done one its result while it is kept. Of other ended jobs returns only the final state, while their dedupe key is remembered",
    polled: true,
    input: z.strictObject({ job_id: jobId }),
    output: z.union([
      jobShape,
      doneJobShape,
      z.object({ job_id: z.string(), queue: z.string(), state: z.enum(["done", "cancelled", "expired"]) }),
    ]),
    async handle({ job_id }, { access }) {
      const found = await core.store.call("job", job_id);
      if (found === undefined)
        throw new CallError("job_not_found", `there is no job ${job_id}; it may have ended`, { details: { job_id } });
      if ("ended" in found) return { job_id, queue: found.queue, state: found.ended };
      return Payload.fromText(jobJson(found, { core, reasonOf: reasonsFor(access) }));
    },
  });
}

/**
 * A restricted caller may have the right to see the counts of a queue but not its jobs. So the reasons must not name
 * the functions of the jobs.
 */
function withoutFunctionIds(reasonOf: NoWorkerReasonOf): NoWorkerReasonOf {
  return (queue, functionId) => {
    const reason = reasonOf(queue, functionId);
    return reason === undefined || functionId === undefined ? reason : "no worker can run some of these jobs now";
  };
}

/** Rejects with CallError `queue_not_found` for a queue that is not declared and was never used. */
export async function refuseUnknown(core: QueueCore, queue: string): Promise<void> {
  if (core.settingsOf(queue) !== undefined || (await core.store.call("countsOf", queue)) !== undefined) return;
  throw new CallError("queue_not_found", `Queue '${queue}' not found`, { details: { queue } });
}

function positionAfter(
  { seq, runAt, failedAt, expiresAt }: JobView,
  state: JobState,
): { readonly seq: number; readonly at: number } {
  const places: Readonly<Partial<Record<JobState, number | undefined>>> = {
    delayed: runAt,
    dead: failedAt,
    done: expiresAt,
  };
  return { seq, at: places[state] ?? 0 };
}

function positionOf(cursor: string): { readonly seq: number; readonly at: number } {
  const [seq, at] = (/^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? []).slice(1).map(Number);
  if (seq === undefined || at === undefined)
    throw new CallError("invalid_input", "queue::peek: `cursor`: is not the cursor of a page");
  return { seq, at };
}
