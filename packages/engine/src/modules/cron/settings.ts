import { createHash } from "node:crypto";
import { z } from "zod";
import { ExpressionError, MAX_EXPRESSION_CHARACTERS } from "./expression.ts";
import { checkedExpression, type Schedule, scheduleOf, within } from "./schedule.ts";
import { canonicalTimeZone } from "./time-zone.ts";

const OVERLAPS = ["skip", "allow", "queue_one"] as const;
const MISFIRES = ["skip", "once", "all"] as const;
export type Overlap = (typeof OVERLAPS)[number];
export type Misfire = (typeof MISFIRES)[number];

const HOUR_MS = 3_600_000;

/**
 * Settings of a cron trigger. All members except `written` are in canonical form: they are equal for equal schedules.
 */
export interface CronSettings {
  readonly expression: string;
  /** The expression as the user wrote it. */
  readonly written: string;
  readonly timezone: string;
  readonly overlap: Overlap;
  readonly misfire: Misfire;
  /** Undefined: the function is called directly. */
  readonly queue: string | undefined;
  readonly jitterMs: number;
  /** Milliseconds since 1970. */
  readonly startAt: number | undefined;
  readonly endAt: number | undefined;
  readonly conditionFunctionId: string | undefined;
  readonly schedule: Schedule;
}

const instant = (what: string) =>
  z.iso
    .datetime({ offset: true, error: "must be a date with time and offset, e.g. 2026-03-01T00:00:00Z" })
    .nullish()
    .meta({ description: what });

/**
 * Config of a trigger of type `cron`. Members that are null count as absent. Unknown members are rejected, because a
 * misspelled `timezone` would be ignored silently.
 */
export function cronSettings(now: () => number): z.ZodType<CronSettings> {
  return z
    .strictObject({
      expression: z
        .string({ error: (issue) => (issue.input === undefined ? "Cron expression is required" : "must be a string") })
        .min(1, "Cron expression is required")
        .max(MAX_EXPRESSION_CHARACTERS)
        .meta({
          description:
            "Five fields (minute hour day month weekday), six (second first) or seven (year last), with names, lists, ranges and steps; or @hourly, @daily, @weekly, @monthly, @yearly. Weekdays are 0 to 7; Sunday is 0 and 7",
        }),
      timezone: z
        .string()
        .nullish()
        .meta({ description: "IANA time zone of the expression, e.g. Europe/Berlin. Default UTC" }),
      overlap: z.enum(OVERLAPS).nullish().meta({
        description:
          "What to do with a tick that is due during a run: skip (default) skips it, allow starts it as well, queue_one starts one run when the current run ends",
      }),
      misfire: z.enum(MISFIRES).nullish().meta({
        description:
          "What to do with ticks that could not start within 60 s: skip (default) skips them, once starts one run for all, all starts each, up to 100",
      }),
      queue: z
        .string()
        .min(1)
        .max(256)
        .nullish()
        .meta({ description: "Adds a job for the function to this queue instead of calling it" }),
      jitter_ms: z.int().min(0).max(HOUR_MS).nullish().meta({
        description:
          "Maximum start delay, in milliseconds. Each trigger has a fixed delay from 0 to this value, so that not all start at once. Default 0",
      }),
      start_at: instant("No tick before this time"),
      end_at: instant("No tick after this time"),
      condition_function_id: z
        .string()
        .min(1)
        .nullish()
        .meta({ description: "Called first with the same payload; if it returns `false`, the tick is skipped" }),
    })
    .transform((config, context): CronSettings => {
      const timezone = canonicalTimeZone(config.timezone ?? "UTC");
      const startAt = config.start_at == null ? undefined : Date.parse(config.start_at);
      const endAt = config.end_at == null ? undefined : Date.parse(config.end_at);
      if (timezone === undefined) {
        context.addIssue({
          code: "custom",
          path: ["timezone"],
          message: `'${String(config.timezone).slice(0, 64)}' is not an IANA time zone, e.g. Europe/Berlin`,
        });
        return z.NEVER;
      }
      if (startAt !== undefined && endAt !== undefined && endAt < startAt) {
        context.addIssue({ code: "custom", path: ["end_at"], message: "is before `start_at`" });
        return z.NEVER;
      }
      try {
        const expression = checkedExpression(config.expression, timezone, now());
        return {
          expression,
          written: config.expression,
          timezone,
          overlap: config.overlap ?? "skip",
          misfire: config.misfire ?? "skip",
          queue: config.queue ?? undefined,
          jitterMs: config.jitter_ms ?? 0,
          startAt,
          endAt,
          conditionFunctionId: config.condition_function_id ?? undefined,
          schedule: within(() => scheduleOf(expression, timezone), startAt, endAt),
        };
      } catch (thrown) {
        if (!(thrown instanceof ExpressionError)) throw thrown;
        context.addIssue({ code: "custom", path: ["expression"], message: thrown.message });
        return z.NEVER;
      }
    }) as unknown as z.ZodType<CronSettings>;
}

/**
 * Returns the job's id. It is equal for equal schedules of one function, however they were written. A tick is
 * identified by the job's id and the time of the tick.
 */
export function jobIdOf(functionId: string, settings: CronSettings): string {
  return createHash("sha256")
    .update(`${functionId}\n${settingsText(settings)}`)
    .digest("hex")
    .slice(0, 32);
}

/** Returns the settings as JSON with a fixed order of members, to store and compare them. */
export function settingsText(settings: CronSettings): string {
  const { expression, timezone, overlap, misfire, queue, jitterMs, startAt, endAt, conditionFunctionId } = settings;
  return JSON.stringify([
    expression,
    timezone,
    overlap,
    misfire,
    queue ?? null,
    jitterMs,
    startAt ?? null,
    endAt ?? null,
    conditionFunctionId ?? null,
  ]);
}

/**
 * Returns how many milliseconds after its ticks a job starts. The delay is fixed per job, so that ticks keep their
 * order.
 */
export function jitterOf(jobId: string, { jitterMs }: CronSettings): number {
  return jitterMs === 0 ? 0 : Number.parseInt(jobId.slice(0, 8), 16) % (jitterMs + 1);
}
