import { setImmediate as turn } from "node:timers/promises";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import type { HandlerContext, ModuleContext } from "../../kernel/module.ts";
import type { CronJobs, CronTrigger } from "./cron-jobs.ts";
import { describeRun, describeTrigger, runOutput, triggerOutput } from "./outputs.ts";

/** Maximum number of triggers per page, and number of triggers that are described in one turn of the event loop. */
const MAX_TRIGGERS = 10_000;
const PER_TURN = 100;
const MAX_RUNS = 100;

const triggerInput = z.strictObject({ trigger_id: z.string().min(1).max(256) });
const triggerStatus = triggerOutput.pick({ trigger_id: true, status: true, reason: true, next_runs: true });

/** Provides the functions that list, run, pause and resume cron triggers. */
export function provideFunctions(context: ModuleContext<unknown>, jobs: CronJobs): void {
  const { clock } = context;
  const directoryFor = ({ access }: HandlerContext) =>
    access === undefined ? context.directory : access.visible(context.directory);

  function find(id: string, caller: HandlerContext): CronTrigger {
    const view = directoryFor(caller).triggerById(id);
    if (view === undefined) throw new CallError("NOT_FOUND", `Cron trigger '${id}' not found`);
    const trigger = jobs.triggerById(view.id);
    if (trigger === undefined)
      throw new CallError(
        "NOT_FOUND",
        `Trigger '${id}' is not ${view.trigger_type === "cron" ? "an active cron trigger" : "a cron trigger"}`,
      );
    return trigger;
  }

  function statusOf(trigger: CronTrigger): z.output<typeof triggerStatus> {
    const { trigger_id, status, reason, next_runs } = describeTrigger(trigger, context.directory, clock.now());
    return { trigger_id, status, ...(reason === undefined ? {} : { reason }), next_runs };
  }

  context.provideFunction({
    id: "cron::list",
    summary: "Lists cron triggers with their next five runs and their last run",
    input: z
      .strictObject({
        cursor: z.string().nullish().meta({ description: "`cursor` of the previous page" }),
        limit: z
          .int()
          .min(1)
          .max(MAX_TRIGGERS)
          .default(1_000)
          .meta({ description: "Maximum triggers per page: 1 to 10,000, default 1,000" }),
      })
      .nullable()
      .transform((input) => ({ cursor: input?.cursor ?? null, limit: input?.limit ?? 1_000 })),
    output: z.object({ triggers: z.array(triggerOutput), cursor: z.string().nullable(), total: z.int() }),
    async handle({ cursor, limit }, caller) {
      const directory = directoryFor(caller);
      const visible = jobs
        .triggers()
        .filter(({ binding }) => caller.access === undefined || directory.triggerById(binding.id) !== undefined);
      const from = cursor === null ? 0 : Number.parseInt(cursor, 10) || 0;
      const page = visible.slice(from, from + limit);
      const triggers: z.output<typeof triggerOutput>[] = [];
      for (const [index, trigger] of page.entries()) {
        // Computing dates is slow, and other calls must not wait for it.
        if (index % PER_TURN === PER_TURN - 1) await turn();
        triggers.push(describeTrigger(trigger, directory, clock.now()));
      }
      return { triggers, cursor: from + limit < visible.length ? String(from + limit) : null, total: visible.length };
    },
  });
  context.provideFunction({
    id: "cron::history",
    summary: "Returns the last runs of a cron trigger, the latest first",
    input: triggerInput.extend({
      limit: z
        .int()
        .min(1)
        .max(MAX_RUNS)
        .default(20)
        .meta({ description: "Maximum runs: 1 to 100, default 20. The last 100 runs are stored" }),
    }),
    output: z.object({ runs: z.array(runOutput) }),
    async handle({ trigger_id, limit }, caller) {
      return { runs: (await jobs.store.history(find(trigger_id, caller).job.id, limit)).map(describeRun) };
    },
  });
  context.provideFunction({
    id: "cron::trigger_now",
    summary: "Runs a cron trigger now, even if it is paused, and returns when the run has ended",
    input: triggerInput,
    output: runOutput.extend({ trigger_id: z.string(), function_id: z.string(), result: z.unknown().optional() }),
    async handle({ trigger_id }, caller) {
      const { binding, job } = find(trigger_id, caller);
      const refusal = caller.access?.deferRefusal(binding.functionId);
      if (refusal !== undefined) throw refusal;
      const { run, result } = await job.trigger();
      return {
        trigger_id: binding.id,
        function_id: binding.functionId,
        ...describeRun(run),
        ...(result === undefined ? {} : { result: result.value() }),
      };
    },
  });
  context.provideFunction({
    id: "cron::pause",
    summary: "Pauses a cron trigger until cron::resume, also after a restart",
    input: triggerInput,
    output: triggerStatus,
    async handle({ trigger_id }, caller) {
      const trigger = find(trigger_id, caller);
      await trigger.job.pause();
      return statusOf(trigger);
    },
  });
  context.provideFunction({
    id: "cron::resume",
    summary: "Resumes a cron trigger with its next tick. Ticks that were due during the pause are not started",
    input: triggerInput,
    output: triggerStatus,
    async handle({ trigger_id }, caller) {
      const trigger = find(trigger_id, caller);
      await trigger.job.resume();
      return statusOf(trigger);
    },
  });
}
