import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import { discardInput, jobId, queueName, redriveInput } from "./inputs.ts";
import { makerIn, mayRun } from "./job-request.ts";
import { refuseUnknown } from "./looking.ts";

/** The functions that change what is on queues. */
export function provideManaging({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, core: QueueCore): void {
  const aQueue = z.strictObject({ queue: queueName });
  const count = z.int().min(0);

  provideFunction({
    id: "queue::pause",
    summary: "Starts no more jobs of a queue until queue::resume, over restarts too; jobs are still accepted",
    input: aQueue,
    output: z.object({ queue: z.string(), paused: z.literal(true) }),
    async handle({ queue }) {
      await core.pause(queue);
      return { queue, paused: true };
    },
  });
  provideFunction({
    id: "queue::resume",
    summary: "Starts jobs of a paused queue again",
    input: aQueue,
    output: z.object({ queue: z.string(), paused: z.literal(false) }),
    async handle({ queue }) {
      await core.resume(queue);
      return { queue, paused: false };
    },
  });
  provideFunction({
    id: "queue::purge",
    summary: "Takes out all jobs of a queue that wait or are delayed; those that run go on, and dead letters stay",
    input: aQueue,
    output: z.object({ queue: z.string(), purged: count }),
    async handle({ queue }) {
      await refuseUnknown(core, queue);
      return { queue, purged: await core.purge(queue) };
    },
  });
  provideFunction({
    id: "queue::cancel",
    summary: "Takes out a job that waits, is delayed or runs; one that runs is withdrawn from its worker",
    input: z.strictObject({ job_id: jobId }),
    output: z.object({ job_id: z.string(), cancelled: z.literal(true) }),
    async handle({ job_id }) {
      await core.cancel(job_id);
      return { job_id, cancelled: true };
    },
  });
  provideFunction({
    id: "queue::redrive",
    summary: "Puts dead letters back on their queue, with all their attempts before them: some, or all; with other data, where that is sent",
    input: redriveInput,
    rawMembers: ["payload"],
    output: z.object({ queue: z.string(), redriven: count }),
    async handle({ queue, job_ids, payload }, { access, principal }) {
      await refuseUnknown(core, queue);
      return { queue, redriven: await core.redrive(queue, { ids: job_ids ?? undefined, data: payload, maker: makerIn(principal), mayRun: mayRun(access) }) };
    },
  });
  provideFunction({
    id: "queue::discard",
    summary: "Takes out dead letters for good",
    input: discardInput,
    output: z.object({ queue: z.string(), discarded: count }),
    async handle({ queue, job_ids }) {
      await refuseUnknown(core, queue);
      return { queue, discarded: await core.discard(queue, job_ids) };
    },
  });
}
