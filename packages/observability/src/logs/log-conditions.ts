import type { SqlValue } from "@svc-runtime/engine/store";
import type { LogFilter } from "./log-filter.ts";
import { searchable } from "./log-row.ts";
import { firstNumberOf, SEVERITIES } from "./severity.ts";

/**
 * Maximum number of trigrams of a text in an index query. A few suffice, because results are compared with the whole
 * text anyway.
 */
const MAX_TRIGRAMS = 24;

export interface Conditions {
  /** Conditions joined with `AND`; `1` if there are none. */
  readonly where: string;
  readonly parameters: readonly SqlValue[];
  /** True if the SQL conditions are equivalent to the filter, so that results need no further check. */
  readonly isExact: boolean;
}

/** Translates the part of a filter that SQLite can evaluate. */
export function conditionsOf(filter: LogFilter): Conditions {
  const parts: string[] = [];
  const parameters: SqlValue[] = [];
  const add = (sql: string, ...values: SqlValue[]): void => {
    parts.push(sql);
    parameters.push(...values);
  };
  // The columns contain whole milliseconds. The caller checks the fraction.
  if (filter.startMs !== undefined) add("time_ms >= ?", Math.floor(filter.startMs));
  if (filter.endMs !== undefined) add("time_ms <= ?", Math.floor(filter.endMs));
  if (filter.traceId !== undefined) add("trace_id = ?", filter.traceId);
  if (filter.spanId !== undefined) add("span_id = ?", filter.spanId);
  if (filter.severityMin !== undefined) add("severity >= ?", filter.severityMin);
  if (filter.functionId !== undefined) add("function_id = ?", filter.functionId);
  if (filter.worker !== undefined) add("(worker = ? OR worker_id = ?)", filter.worker, filter.worker);
  if (filter.services !== undefined) add(`service IN (${marks(filter.services)})`, ...filter.services);
  if (filter.excludeServices.length > 0)
    add(`service NOT IN (${marks(filter.excludeServices)})`, ...filter.excludeServices);
  if (filter.levels !== undefined) {
    const ranges = filter.levels.flatMap(severityRange);
    add(
      ranges.length === 0 ? "0" : `(${ranges.map(([from, to]) => `severity BETWEEN ${from} AND ${to}`).join(" OR ")})`,
    );
  }
  const trigrams = filter.text === undefined ? undefined : trigramsOf(filter.text);
  if (trigrams !== undefined) add("id IN (SELECT rowid FROM logs_text WHERE logs_text MATCH ?)", trigrams);
  const isWholeMs = Number.isInteger(filter.startMs ?? 0) && filter.endMs === undefined;
  const isExact =
    isWholeMs &&
    filter.text === undefined &&
    filter.excludeText === undefined &&
    filter.regex === undefined &&
    filter.groups.length === 0 &&
    filter.filters.length === 0;
  return { where: parts.length === 0 ? "1" : parts.join(" AND "), parameters, isExact };
}

/** Returns an index query; undefined if the text is too short for trigrams. */
function trigramsOf(text: string): string | undefined {
  const characters = [...searchable(text)];
  if (characters.length < 3) return undefined;
  const trigrams = new Set<string>();
  for (let index = 0; index + 3 <= characters.length && trigrams.size < MAX_TRIGRAMS; index++)
    trigrams.add(characters.slice(index, index + 3).join(""));
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
