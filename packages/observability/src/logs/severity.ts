import type { SeverityText } from "../telemetry-records.ts";

/** The five names of the specification, least severe first. */
export const SEVERITIES: readonly SeverityText[] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/** Lowest severity number of each level. FATAL (21 to 24) is shown as ERROR with `fatal: true`. */
const FIRST_NUMBER: Readonly<Record<SeverityText, number>> = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17 };
const FIRST_FATAL_NUMBER = 21;

/** Severity numbers by level name, for all spellings that loggers use. */
const NUMBER_BY_NAME: ReadonlyMap<string, number> = new Map([
  ["trace", 1],
  ["debug", 5],
  ["info", 9],
  ["information", 9],
  ["notice", 10],
  ["warn", 13],
  ["warning", 13],
  ["error", 17],
  ["err", 17],
  ["critical", 21],
  ["crit", 21],
  ["fatal", 21],
  ["alert", 22],
  ["emergency", 23],
  ["panic", 23],
]);

export function severityTextOf(severityNumber: number): SeverityText {
  return SEVERITIES[Math.min(4, Math.floor((severityNumber - 1) / 4))] ?? "INFO";
}

export function isFatal(severityNumber: number): boolean {
  return severityNumber >= FIRST_FATAL_NUMBER;
}

export function firstNumberOf(severity: SeverityText): number {
  return FIRST_NUMBER[severity];
}

/** Returns the number of a level name in any case; undefined if it is unknown. */
export function severityNumberOf(name: string): number | undefined {
  return NUMBER_BY_NAME.get(name.toLowerCase());
}

/** Limits a severity number to the range 1 to 24. Returns 9 (INFO) if it is not a finite number. */
export function validSeverityNumber(severityNumber: number): number {
  if (!Number.isFinite(severityNumber)) return 9;
  return Math.min(24, Math.max(1, Math.trunc(severityNumber)));
}
