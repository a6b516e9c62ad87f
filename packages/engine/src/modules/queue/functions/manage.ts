import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import { discardInput, jobId, progressInput, queueName, redriveInput } from "./inputs.ts";
import { refuseUnknown } from "./inspect.ts";
import { makerIn, mayRun } from "./job-request.ts";

/** Provides the functions that change queues and their jobs. */
export function provideManageFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  core: QueueCore,
): void {
  const aQueue = z.strictObject({ queue: queueName });
  const count = z.int().min(0);

  provideFunction({
    id: "queue::pause",
    summary: "Pauses a queue until queue::resume, also after a restart. The queue still accepts jobs",
    input: aQueue,
    output: z.object({ queue: z.string(), paused: z.literal(true) }),
    async handle({ queue }) {
      await core.pause(queue);
      return { queue, paused: true };
    },
  });
  provideFunction({
    id: "queue::resume",
    summary: "Resumes a paused queue",
    input: aQueue,
    output: z.object({ queue: z.string(), paused: z.literal(false) }),
    async handle({ queue }) {
      await core.resume(queue);
      return { queue, paused: false };
    },
  });
  provideFunction({
    id: "queue::purge",
    summary: "Deletes all waiting and delayed jobs of a queue. Running jobs and dead letters stay",
    input: aQueue,
    output: z.object({ queue: z.string(), purged: count }),
    async handle({ queue }) {
      await refuseUnknown(core, queue);
      return { queue, purged: await core.purge(queue) };
    },
  });
  provideFunction({
    id: "queue::cancel",
    summary: "Deletes a waiting, delayed or running job. The call of a running job is cancelled",
    input: z.strictObject({ job_id: jobId }),
    output: z.object({ job_id: z.string(), cancelled: z.literal(true) }),
    async handle({ job_id }) {
      await core.cancel(job_id);
      return { job_id, cancelled: true };
    },
  });
  provideFunction({
    id: "queue::report_progress",
    summary: "Reports how far a running job is. A restricted caller must be the worker that runs it",
    input: progressInput,
    output: z.null(),
    async handle({ queue, job_id: jobId, attempt, progress: value, note }, { access, caller }) {
      // A restricted caller that is not a worker, e.g. over HTTP, runs no job. The empty id matches no worker.
      const workerId = access === undefined ? undefined : (caller?.worker_id ?? "");
      core.reportProgress({ queue, jobId, attempt, value, note: note ?? undefined }, workerId);
      return null;
    },
  });
  provideFunction({
    id: "queue::redrive",
    summary:
      "Returns some or all dead letters to their queue, with all their attempts available again and, optionally, new data",
    input: redriveInput,
    rawMembers: ["payload"],
    output: z.object({ queue: z.string(), redriven: count }),
    async handle({ queue, job_ids, payload }, { access, principal }) {
      await refuseUnknown(core, queue);
      return {
        queue,
        redriven: await core.redrive(queue, {
          ids: job_ids ?? undefined,
          data: payload,
          maker: makerIn(principal),
          mayRun: mayRun(access),
        }),
      };
    },
  });
  provideFunction({
    id: "queue::discard",
    summary: "Deletes dead letters",
    input: discardInput,
    output: z.object({ queue: z.string(), discarded: count }),
    async handle({ queue, job_ids }) {
      await refuseUnknown(core, queue);
      return { queue, discarded: await core.discard(queue, job_ids) };
    },
  });
}
