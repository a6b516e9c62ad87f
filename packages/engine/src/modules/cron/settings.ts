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

/** What a cron trigger asks for, in the one form that equal requests have in common. */
export interface CronSettings {
  readonly expression: string;
  /** The expression as it was asked for. */
  readonly written: string;
  readonly timezone: string;
  readonly overlap: Overlap;
  readonly misfire: Misfire;
  /** Undefined: the function is called. */
  readonly queue: string | undefined;
  readonly jitterMs: number;
  /** Milliseconds since 1970. */
  readonly startAt: number | undefined;
  readonly endAt: number | undefined;
  readonly conditionFunctionId: string | undefined;
  readonly schedule: Schedule;
}

const instant = (what: string) =>
  z.iso.datetime({ offset: true, error: "must be a date with time and offset, e.g. 2026-03-01T00:00:00Z" }).nullish().meta({ description: what });

/** The config of a trigger of type `cron`. Members that are null count as absent; unknown ones are refused, since a slip in `timezone` would be silent. */
export function cronSettings(now: () => number): z.ZodType<CronSettings> {
  return z
    .strictObject({
      expression: z
        .string({ error: (issue) => (issue.input === undefined ? "Cron expression is required" : "must be a text") })
        .min(1, "Cron expression is required")
        .max(MAX_EXPRESSION_CHARACTERS)
        .meta({
          description:
            "Five fields (minute hour day month weekday), six (seconds first) or seven (and a year), with names, lists, ranges and steps; or @hourly, @daily, @weekly, @monthly, @yearly. Weekdays are 0 to 7, Sunday being 0 and 7",
        }),
      timezone: z.string().nullish().meta({ description: "IANA zone that the expression is read in, e.g. Europe/Berlin. Default UTC" }),
      overlap: z.enum(OVERLAPS).nullish().meta({
        description: "A tick comes while a run goes on: skip (default) passes it over, allow starts it as well, queue_one starts one when the run ends",
      }),
      misfire: z.enum(MISFIRES).nullish().meta({
        description: "Ticks that could not start for more than 60 s: skip (default) passes them over, once starts one for all, all starts each, 100 at most",
      }),
      queue: z.string().min(1).max(256).nullish().meta({ description: "Puts a job for the function on this queue instead of calling it" }),
      jitter_ms: z
        .int()
        .min(0)
        .max(HOUR_MS)
        .nullish()
        .meta({ description: "Starts each trigger later by an amount of its own, from 0 to this, so that not all start at once. Default 0" }),
      start_at: instant("No tick before this instant"),
      end_at: instant("No tick after this instant"),
      condition_function_id: z
        .string()
        .min(1)
        .nullish()
        .meta({ description: "Called first with the same payload; when it answers `false`, the tick is passed over" }),
    })
    .transform((config, context): CronSettings => {
      const timezone = canonicalTimeZone(config.timezone ?? "UTC");
      const startAt = config.start_at == null ? undefined : Date.parse(config.start_at);
      const endAt = config.end_at == null ? undefined : Date.parse(config.end_at);
      if (timezone === undefined) {
        context.addIssue({ code: "custom", path: ["timezone"], message: `'${String(config.timezone).slice(0, 64)}' is no IANA time zone, e.g. Europe/Berlin` });
        return z.NEVER;
      }
      if (startAt !== undefined && endAt !== undefined && endAt < startAt) {
        context.addIssue({ code: "custom", path: ["end_at"], message: "lies before `start_at`" });
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

/** Equal for equal schedules of one function, however they were written; a tick is this and its instant (decision 12). */
export function jobIdOf(functionId: string, settings: CronSettings): string {
  return createHash("sha256")
    .update(`${functionId}\n${settingsText(settings)}`)
    .digest("hex")
    .slice(0, 32);
}

/** The settings as JSON with the members in one order, for keeping. */
export function settingsText(settings: CronSettings): string {
  const { expression, timezone, overlap, misfire, queue, jitterMs, startAt, endAt, conditionFunctionId } = settings;
  return JSON.stringify([expression, timezone, overlap, misfire, queue ?? null, jitterMs, startAt ?? null, endAt ?? null, conditionFunctionId ?? null]);
}

/** How much later than its ticks a job starts: the same each time, so that ticks keep their order. */
export function jitterOf(jobId: string, { jitterMs }: CronSettings): number {
  return jitterMs === 0 ? 0 : Number.parseInt(jobId.slice(0, 8), 16) % (jitterMs + 1);
}
