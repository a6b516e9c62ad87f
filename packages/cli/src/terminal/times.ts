import { timeOfDay } from "../logs/log-lines.ts";

const STEPS = [
  { ms: 86_400_000, unit: "d" },
  { ms: 3_600_000, unit: "h" },
  { ms: 60_000, unit: "min" },
  { ms: 1_000, unit: "s" },
] as const;

/** Formats a time relative to now: `12 s ago`, `3 h ago`, `in 5 min`, `now`. */
export function ago(instantMs: number, nowMs = Date.now()): string {
  const distance = nowMs - instantMs;
  if (Math.abs(distance) < 1_000) return "now";
  return distance > 0 ? `${span(distance)} ago` : `in ${span(-distance)}`;
}

/** Formats a duration in its largest whole unit: `12 s`, `3 h`. */
export function span(ms: number): string {
  const step = STEPS.find((known) => ms >= known.ms);
  return step === undefined ? "0 s" : `${Math.floor(ms / step.ms)} ${step.unit}`;
}

/** Formats a local time, e.g. `14:03:07.123`, with the date unless it is today. */
export function dayAndTime(instantMs: number, nowMs = Date.now()): string {
  const time = new Date(instantMs);
  const clock = timeOfDay(instantMs);
  if (time.toDateString() === new Date(nowMs).toDateString()) return clock;
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock}`;
}
