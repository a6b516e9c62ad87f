import type { SeverityText } from "../model.ts";

/** The specification's five, least severe first. */
export const SEVERITIES: readonly SeverityText[] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/** First number of each; FATAL (21 to 24) is ERROR with a mark (decision 36). */
const FIRST_NUMBER: Readonly<Record<SeverityText, number>> = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17 };
const FIRST_FATAL_NUMBER = 21;

/** Other spellings that loggers use. */
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

/** Number of a level's name in any case; undefined for one that no logger uses. */
export function severityNumberOf(name: string): number | undefined {
  return NUMBER_BY_NAME.get(name.toLowerCase());
}

/** 1 to 24, whatever was told; 9 (INFO) for what is no number. */
export function validSeverityNumber(severityNumber: number): number {
  if (!Number.isFinite(severityNumber)) return 9;
  return Math.min(24, Math.max(1, Math.trunc(severityNumber)));
}
