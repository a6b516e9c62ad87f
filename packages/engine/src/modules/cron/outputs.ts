import { z } from "zod";
import type { Directory } from "../../kernel/directory.ts";
import type { CronTrigger } from "./cron-jobs.ts";
import type { Run } from "./store/rows.ts";

const NEXT_RUNS = 5;

const time = z.iso.datetime().nullable();

export const runOutput = z.object({
  scheduled_time: z.iso
    .datetime()
    .meta({ description: "Time of the tick. If several ticks were skipped together, of the last one" }),
  started_at: time.meta({ description: "Null if no run was started" }),
  finished_at: time.meta({ description: "Null while it runs" }),
  outcome: z.enum(["ok", "error", "skipped", "enqueued"]).nullable().meta({ description: "Null while it runs" }),
  error: z.string().optional(),
  manual: z.boolean().optional().meta({ description: "True if cron::trigger_now started it" }),
  passed_over: z
    .int()
    .optional()
    .meta({ description: "Number of skipped ticks that this entry stands for; at most 100 per gap" }),
});

export const triggerOutput = z.object({
  trigger_id: z.string(),
  function_id: z.string(),
  expression: z.string(),
  timezone: z.string(),
  status: z.enum(["active", "paused", "inactive", "error"]),
  reason: z.string().optional().meta({ description: "Why the trigger is inactive or in error" }),
  next_runs: z.array(z.iso.datetime()).max(NEXT_RUNS).meta({ description: "Empty while the trigger is paused" }),
  last_run: runOutput.optional(),
  overlap: z.enum(["skip", "allow", "queue_one"]),
  misfire: z.enum(["skip", "once", "all"]),
  queue: z.string().nullable(),
});

export function describeRun(run: Run): z.output<typeof runOutput> {
  return {
    scheduled_time: timeText(run.scheduledAt),
    started_at: run.startedAt === null ? null : timeText(run.startedAt),
    finished_at: run.finishedAt === null ? null : timeText(run.finishedAt),
    outcome: run.outcome,
    ...(run.error === null ? {} : { error: run.error }),
    ...(run.manual ? { manual: true } : {}),
    ...(run.skippedCount > 0 ? { passed_over: run.skippedCount } : {}),
  };
}

export function describeTrigger(
  { binding, job }: CronTrigger,
  directory: Directory,
  now: number,
): z.output<typeof triggerOutput> {
  const { settings } = binding;
  const { lastRun } = job;
  return {
    trigger_id: binding.id,
    function_id: binding.functionId,
    expression: settings.written,
    timezone: settings.timezone,
    ...statusOf({ binding, job }, directory),
    next_runs: job.isPaused ? [] : job.nextTicks(NEXT_RUNS, now).map(timeText),
    ...(lastRun === undefined ? {} : { last_run: describeRun(lastRun) }),
    overlap: settings.overlap,
    misfire: settings.misfire,
    queue: settings.queue ?? null,
  };
}

function statusOf(
  { binding, job }: CronTrigger,
  directory: Directory,
): Pick<z.output<typeof triggerOutput>, "status" | "reason"> {
  const view = directory.triggerById(binding.id);
  if (view?.status === "error") return { status: "error", reason: view.reason ?? "" };
  if (job.isPaused) return { status: "paused" };
  return view?.status === "inactive" ? { status: "inactive", reason: view.reason ?? "" } : { status: "active" };
}

function timeText(instant: number): string {
  return new Date(instant).toISOString();
}
