import type { SqlValue } from "../../../store/driver.ts";
import type { LogFilter } from "./log-filter.ts";
import { searchable } from "./log-row.ts";
import { firstNumberOf, SEVERITIES } from "./severity.ts";

/** Trigrams of a text that the index is asked for; what it finds is judged by the whole text anyway. */
const MAX_TRIGRAMS = 24;

export interface Conditions {
  /** With `AND` between them; `1` when there is none. */
  readonly where: string;
  readonly parameters: readonly SqlValue[];
  /** The conditions say all that the filter does: what they find needs no judging. */
  readonly isExact: boolean;
}

/** What of a filter SQLite can judge. */
export function conditionsOf(filter: LogFilter): Conditions {
  const parts: string[] = [];
  const parameters: SqlValue[] = [];
  const add = (sql: string, ...values: SqlValue[]): void => {
    parts.push(sql);
    parameters.push(...values);
  };
  // Whole milliseconds; the rest is judged by whoever reads the rows.
  if (filter.startMs !== undefined) add("time_ms >= ?", Math.floor(filter.startMs));
  if (filter.endMs !== undefined) add("time_ms <= ?", Math.floor(filter.endMs));
  if (filter.traceId !== undefined) add("trace_id = ?", filter.traceId);
  if (filter.spanId !== undefined) add("span_id = ?", filter.spanId);
  if (filter.severityMin !== undefined) add("severity >= ?", filter.severityMin);
  if (filter.functionId !== undefined) add("function_id = ?", filter.functionId);
  if (filter.worker !== undefined) add("(worker = ? OR worker_id = ?)", filter.worker, filter.worker);
  if (filter.services !== undefined) add(`service IN (${marks(filter.services)})`, ...filter.services);
  if (filter.excludeServices.length > 0) add(`service NOT IN (${marks(filter.excludeServices)})`, ...filter.excludeServices);
  if (filter.levels !== undefined) {
    const ranges = filter.levels.flatMap(severityRange);
    add(ranges.length === 0 ? "0" : `(${ranges.map(([from, to]) => `severity BETWEEN ${from} AND ${to}`).join(" OR ")})`);
  }
  const trigrams = filter.text === undefined ? undefined : trigramsOf(filter.text);
  if (trigrams !== undefined) add("id IN (SELECT rowid FROM logs_text WHERE logs_text MATCH ?)", trigrams);
  const isWholeMs = Number.isInteger(filter.startMs ?? 0) && filter.endMs === undefined;
  const isExact = isWholeMs && filter.text === undefined && filter.excludeText === undefined && filter.regex === undefined && filter.filters.length === 0;
  return { where: parts.length === 0 ? "1" : parts.join(" AND "), parameters, isExact };
}

/** A query for the index; undefined for a text too short for it. */
function trigramsOf(text: string): string | undefined {
  const characters = [...searchable(text)];
  if (characters.length < 3) return undefined;
  const trigrams = new Set<string>();
  for (let index = 0; index + 3 <= characters.length && trigrams.size < MAX_TRIGRAMS; index++) trigrams.add(characters.slice(index, index + 3).join(""));
  return [...trigrams].map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}

function severityRange(level: string): [number, number][] {
  if (level === "FATAL") return [[21, 24]];
  const severity = SEVERITIES.find((name) => name === level);
  if (severity === undefined) return [];
  const first = firstNumberOf(severity);
  return [[first, severity === "ERROR" ? 24 : first + 3]];
}

function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}
