import { z } from "zod";
import type { Directory } from "../../kernel/directory.ts";
import type { CronTrigger } from "./cron-jobs.ts";
import type { Run } from "./store/rows.ts";

const NEXT_RUNS = 5;

const time = z.iso.datetime().nullable();

export const runAnswer = z.object({
  scheduled_time: z.iso.datetime().meta({ description: "The tick; of several that were passed over together, the last" }),
  started_at: time.meta({ description: "Null: nothing was started" }),
  finished_at: time.meta({ description: "Null: it goes on" }),
  outcome: z.enum(["ok", "error", "skipped", "enqueued"]).nullable().meta({ description: "Null: it goes on" }),
  error: z.string().optional(),
  manual: z.boolean().optional().meta({ description: "Somebody asked for it" }),
  passed_over: z.int().optional().meta({ description: "Ticks that nothing was started for and that this line stands for; of one gap 100 at most are counted" }),
});

export const triggerAnswer = z.object({
  trigger_id: z.string(),
  function_id: z.string(),
  expression: z.string(),
  timezone: z.string(),
  status: z.enum(["active", "paused", "inactive", "error"]),
  reason: z.string().optional().meta({ description: "Why it is inactive or in error" }),
  next_runs: z.array(z.iso.datetime()).max(NEXT_RUNS).meta({ description: "None while it is paused" }),
  last_run: runAnswer.optional(),
  overlap: z.enum(["skip", "allow", "queue_one"]),
  misfire: z.enum(["skip", "once", "all"]),
  queue: z.string().nullable(),
});

export function describeRun(run: Run): z.output<typeof runAnswer> {
  return {
    scheduled_time: text(run.scheduledAt),
    started_at: run.startedAt === null ? null : text(run.startedAt),
    finished_at: run.finishedAt === null ? null : text(run.finishedAt),
    outcome: run.outcome,
    ...(run.error === null ? {} : { error: run.error }),
    ...(run.manual ? { manual: true } : {}),
    ...(run.passedOver > 0 ? { passed_over: run.passedOver } : {}),
  };
}

export function describeTrigger({ binding, job }: CronTrigger, directory: Directory, now: number): z.output<typeof triggerAnswer> {
  const { settings } = binding;
  const { lastRun } = job;
  return {
    trigger_id: binding.id,
    function_id: binding.functionId,
    expression: settings.written,
    timezone: settings.timezone,
    ...standingOf({ binding, job }, directory),
    next_runs: job.isPaused ? [] : job.nextTicks(NEXT_RUNS, now).map(text),
    ...(lastRun === undefined ? {} : { last_run: describeRun(lastRun) }),
    overlap: settings.overlap,
    misfire: settings.misfire,
    queue: settings.queue ?? null,
  };
}

function standingOf({ binding, job }: CronTrigger, directory: Directory): Pick<z.output<typeof triggerAnswer>, "status" | "reason"> {
  const view = directory.triggerById(binding.id);
  if (view?.status === "error") return { status: "error", reason: view.reason ?? "" };
  if (job.isPaused) return { status: "paused" };
  return view?.status === "inactive" ? { status: "inactive", reason: view.reason ?? "" } : { status: "active" };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
