import type { AttributeValue } from "@svc-runtime/engine/module";
import { attributeOf, textOfValue } from "../query/attributes.ts";
import type { Filter } from "../query/filter-input.ts";
import { type CompiledFilter, compileFilter } from "../query/filters.ts";
import type { LogRecord } from "../telemetry-records.ts";
import { type RedactAttributes, redactionOf, redactRecord } from "./log-json.ts";
import { compileRegex, selectByRegex } from "./regex-search.ts";
import type { StoredLog } from "./stored-log.ts";

/** A filter in the form that is sent to the store's thread. */
export interface LogFilter {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly severityMin: number | undefined;
  /** Level names in upper case; undefined for all levels. */
  readonly levels: readonly string[] | undefined;
  readonly services: readonly string[] | undefined;
  readonly worker: string | undefined;
  readonly functionId: string | undefined;
  /** Text to find, in lower case and not empty. */
  readonly text: string | undefined;
  readonly regex: string | undefined;
  readonly filters: readonly Filter[];
  readonly excludeServices: readonly string[];
  readonly excludeText: string | undefined;
  /** The parts of a query that the other members cannot express. */
  readonly groups: readonly LogFilterGroup[];
  /**
   * Keys whose values are masked and cannot be found. They are part of each filter, so that a change of the config
   * applies at once, also in the thread that reads the disk.
   */
  readonly redactKeys: readonly string[];
}

/** A group matches if one of its filters matches. A negated group matches if none of them does. */
export interface LogFilterGroup {
  readonly negated: boolean;
  readonly any: readonly LogFilter[];
}

export const NO_FILTER: LogFilter = {
  startMs: undefined,
  endMs: undefined,
  traceId: undefined,
  spanId: undefined,
  severityMin: undefined,
  levels: undefined,
  services: undefined,
  worker: undefined,
  functionId: undefined,
  text: undefined,
  regex: undefined,
  filters: [],
  excludeServices: [],
  excludeText: undefined,
  groups: [],
  redactKeys: [],
};

export type LogMatcher = (log: LogRecord) => boolean;

/**
 * Returns a function that selects the matching entries, in order. That function throws the error of `refuse` if the
 * regular expression times out.
 */
export function logSelector(
  filter: LogFilter,
  refuse: (message: string) => Error,
): (entries: readonly StoredLog[]) => StoredLog[] {
  const matches = logMatcher(filter);
  const expression = filter.regex === undefined ? undefined : compileRegex(filter.regex);
  return (entries) => {
    const matching = entries.filter(({ log }) => matches(log));
    return expression === undefined
      ? matching
      : selectByRegex({ expression, things: matching, textOf: ({ log }) => log.body, refuse });
  };
}

/** Tests everything except the regular expression. Texts and attributes are compared after masking. */
export function logMatcher(filter: LogFilter, redact: RedactAttributes = redactionOf(filter.redactKeys)): LogMatcher {
  const checks: LogMatcher[] = [];
  const { startMs, endMs, severityMin, functionId, worker } = filter;
  if (startMs !== undefined) {
    const start = nanosOfStart(startMs);
    checks.push((log) => log.timeUnixNano >= start);
  }
  if (endMs !== undefined) {
    const end = nanosOfEnd(endMs);
    checks.push((log) => log.timeUnixNano <= end);
  }
  if (filter.traceId !== undefined) checks.push((log) => log.traceId === filter.traceId);
  if (filter.spanId !== undefined) checks.push((log) => log.spanId === filter.spanId);
  if (severityMin !== undefined) checks.push((log) => log.severityNumber >= severityMin);
  if (filter.levels !== undefined) {
    const levels = new Set(filter.levels);
    checks.push((log) => levels.has(log.severityText) || (levels.has("FATAL") && log.severityNumber >= 21));
  }
  if (filter.services !== undefined) {
    const services = new Set(filter.services);
    checks.push((log) => services.has(log.resource.service));
  }
  if (filter.excludeServices.length > 0) {
    const services = new Set(filter.excludeServices);
    checks.push((log) => !services.has(log.resource.service));
  }
  if (functionId !== undefined) checks.push((log) => functionOf(log) === functionId);
  if (worker !== undefined) checks.push((log) => workerOf(log) === worker || workerIdOf(log) === worker);
  if (filter.filters.length > 0) {
    const conditions = filter.filters.map((condition) => conditionCheck(compileFilter(condition)));
    checks.push((log) => {
      const shown = redactRecord(log, redact);
      return conditions.every((check) => check(shown));
    });
  }
  const { text, excludeText } = filter;
  if (text !== undefined) checks.push((log) => showsText(log, text, redact));
  if (excludeText !== undefined) checks.push((log) => !showsText(log, excludeText, redact));
  for (const { negated, any } of filter.groups) {
    const alternatives = any.map((each) => logMatcher(each, redact));
    checks.push((log) => alternatives.some((matches) => matches(log)) !== negated);
  }
  return (log) => checks.every((check) => check(log));
}

/** Returns the function that wrote the entry, if it is known. */
export function functionOf(log: LogRecord): string | undefined {
  return stringOrNone(attributeOf(log.attributes, "svc.function_id"));
}

/** Returns the worker's own name, or the service name if there is none. */
export function workerOf(log: LogRecord): string {
  return stringOrNone(attributeOf(log.attributes, "svc.worker.name")) ?? log.resource.service;
}

/** Yields the texts that the filter `text` searches: the body, then each attribute value. */
export function* searchedTexts(log: LogRecord): Generator<string> {
  yield log.body;
  for (const value of Object.values(log.attributes)) if (value !== null) yield textOfValue(value);
}

/**
 * Returns whether the masked entry contains the text. Masks only entries that contain the text unmasked, because
 * masking is slow. A text with `*` may be part of the mask, so it is always compared with the masked entry.
 */
function showsText(log: LogRecord, lower: string, redact: RedactAttributes): boolean {
  return (lower.includes("*") || containsText(log, lower)) && containsText(redactRecord(log, redact), lower);
}

function containsText(log: LogRecord, lower: string): boolean {
  for (const part of searchedTexts(log)) if (part.toLowerCase().includes(lower)) return true;
  return false;
}

function conditionCheck(condition: CompiledFilter): LogMatcher {
  return (log) => condition.matches(fieldOf(log, condition.key)) !== condition.negated;
}

/** Returns a field by its JSON name, a resource attribute by `resource.NAME`, or an attribute by its name. */
export function fieldOf(log: LogRecord, key: string): AttributeValue | undefined {
  const field = FIELDS.get(key);
  if (field !== undefined) return field(log) ?? attributeOf(log.attributes, key);
  if (key.startsWith("resource.")) {
    const name = key.slice("resource.".length);
    return (
      attributeOf(log.resource.attributes, name) ??
      (name === "service.name" ? log.resource.service : attributeOf(log.attributes, key))
    );
  }
  return attributeOf(log.attributes, key);
}

const FIELDS: ReadonlyMap<string, (log: LogRecord) => AttributeValue | undefined> = new Map<
  string,
  (log: LogRecord) => AttributeValue | undefined
>([
  ["body", (log) => log.body],
  ["service", (log) => log.resource.service],
  ["service_name", (log) => log.resource.service],
  ["level", (log) => log.severityText],
  ["severity_text", (log) => log.severityText],
  ["severity_number", (log) => log.severityNumber],
  ["trace_id", (log) => log.traceId],
  ["span_id", (log) => log.spanId],
  ["worker", (log) => workerOf(log)],
  ["function", (log) => functionOf(log)],
]);

/** Returns the id of the connection over which the entry arrived, if it is known. */
export function workerIdOf(log: LogRecord): string | undefined {
  return log.resource.workerId ?? stringOrNone(attributeOf(log.attributes, "svc.worker.id"));
}

/** Converts a bound to nanoseconds, limited to the range that entries can have. */
export function nanosOfStart(startMs: number): bigint {
  return nanosOfBound(startMs, Math.ceil);
}

export function nanosOfEnd(endMs: number): bigint {
  return nanosOfBound(endMs, Math.floor);
}

function nanosOfBound(ms: number, round: (value: number) => number): bigint {
  const held = Math.min(Math.max(ms, -1), 1e14);
  const whole = Math.floor(held);
  return BigInt(whole) * 1_000_000n + BigInt(round((held - whole) * 1e6));
}

function stringOrNone(value: AttributeValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
