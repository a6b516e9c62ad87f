import { compileGlob, type EngineFilter, type LogQuery } from "@svc-runtime/protocol/query";
import { attributeOf, functionOf, type Log, textOfValue, workerOf } from "./log.ts";

/** Maximum number of characters on which a regular expression is tested. It is the same as in the engine. */
const MAX_SEARCHED = 16 * 1024;

/**
 * Returns a function that filters live entries in the same way as the engine filters stored ones. Throws SyntaxError
 * for an invalid regular expression.
 */
export function logMatcher(
  { members, groups }: LogQuery,
  window: { readonly startMs?: number; readonly endMs?: number },
): (log: Log) => boolean {
  const {
    levels,
    severity_min,
    services,
    worker,
    function_id,
    trace_id,
    span_id,
    text,
    regex,
    filters = [],
    exclude,
  } = members;
  const checks: ((log: Log) => boolean)[] = [];
  const { startMs, endMs } = window;
  if (startMs !== undefined) checks.push((log) => log.timestamp_ms >= startMs);
  if (endMs !== undefined) checks.push((log) => log.timestamp_ms <= endMs);
  if (levels !== undefined)
    checks.push((log) => levels.includes(log.severity_text) || (levels.includes("FATAL") && log.fatal === true));
  if (severity_min !== undefined) checks.push((log) => log.severity_number >= severity_min);
  if (services !== undefined) checks.push((log) => services.includes(log.service_name));
  if (exclude?.services !== undefined) checks.push((log) => exclude.services?.includes(log.service_name) !== true);
  if (worker !== undefined)
    checks.push((log) => workerOf(log) === worker || attributeOf(log.attributes, "svc.worker.id") === worker);
  if (function_id !== undefined) checks.push((log) => functionOf(log) === function_id);
  if (trace_id !== undefined) checks.push((log) => log.trace_id === trace_id.toLowerCase());
  if (span_id !== undefined) checks.push((log) => log.span_id === span_id.toLowerCase());
  for (const each of filters) checks.push(filterMatcher(each));
  if (text !== undefined) checks.push((log) => containsText(log, text.toLowerCase()));
  if (exclude?.text !== undefined) {
    const not = exclude.text.toLowerCase();
    checks.push((log) => !containsText(log, not));
  }
  for (const { negated, any } of groups) {
    const alternatives = any.map((query) => logMatcher(query, {}));
    checks.push((log) => alternatives.some((matches) => matches(log)) !== negated);
  }
  if (regex !== undefined) {
    const expression = new RegExp(regex, "i");
    checks.push((log) => expression.test(log.body.slice(0, MAX_SEARCHED)));
  }
  return (log) => checks.every((check) => check(log));
}

function containsText(log: Log, lower: string): boolean {
  if (log.body.toLowerCase().includes(lower)) return true;
  return Object.values(log.attributes).some(
    (value) => value !== null && textOfValue(value).toLowerCase().includes(lower),
  );
}

function filterMatcher({ key, op, value = "" }: EngineFilter): (log: Log) => boolean {
  const positive = op.replace(/^not_/, "");
  const isNegated = positive !== op;
  return (log) => matchesOperator(fieldValue(log, key), positive, value) !== isNegated;
}

function matchesOperator(value: unknown, op: string, wanted: string): boolean {
  if (value === undefined) return false;
  if (op === "exists") return true;
  const text = textOfValue(value);
  if (op === "equals") return text === wanted;
  if (op === "like") return compileGlob(wanted)(text);
  if (op === "contains") return text.toLowerCase().includes(wanted.toLowerCase());
  const [number, bound] = [Number(text), Number(wanted)];
  if (text.trim() === "" || wanted.trim() === "" || Number.isNaN(number) || Number.isNaN(bound)) return false;
  return op === "gt" ? number > bound : op === "gte" ? number >= bound : op === "lt" ? number < bound : number <= bound;
}

/**
 * Returns a field by its name in the engine's filters. If there is no such field, returns the attribute with this name.
 */
export function fieldValue(log: Log, key: string): unknown {
  if (key.startsWith("resource."))
    return attributeOf(log.resource, key.slice("resource.".length)) ?? attributeOf(log.attributes, key);
  switch (key) {
    case "body":
      return log.body;
    case "service":
      return log.service_name;
    case "level":
      return log.severity_text;
    case "severity_number":
      return log.severity_number;
    case "trace_id":
      return log.trace_id ?? undefined;
    case "span_id":
      return log.span_id ?? undefined;
    case "worker":
      return workerOf(log);
    case "function":
      return functionOf(log);
    default:
      return attributeOf(log.attributes, key);
  }
}
