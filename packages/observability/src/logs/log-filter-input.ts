import { CallError } from "@svc-runtime/protocol";
import { type LogQuery, readLogQuery } from "@svc-runtime/protocol/query";
import { z } from "zod";
import { type Filter, filterSchema, filtersSchema, oneOf, querySchema, rejectProblems } from "../query/filter-input.ts";
import type { LogFilter, LogFilterGroup } from "./log-filter.ts";
import { compileRegex } from "./regex-search.ts";
import { isFatal, SEVERITIES, severityNumberOf, severityTextOf } from "./severity.ts";

const MAX_TEXT = 1_024;
const MAX_LIST = 200;

const text = z.string().max(MAX_TEXT);
const names = z.array(text).max(MAX_LIST);
const level = oneOf([...SEVERITIES, "FATAL"], (word) => severityNumberOf(word) !== undefined);

/** Filter members that all functions for entries accept. */
export const logFilterMembers = () => ({
  query: querySchema.nullish(),
  start_time: z.number().nullish().meta({ description: "Milliseconds since 1970: entries at this time or later" }),
  end_time: z.number().nullish().meta({ description: "Milliseconds since 1970: entries at this time or earlier" }),
  trace_id: text.nullish(),
  span_id: text.nullish(),
  severity_min: z
    .number()
    .nullish()
    .meta({ description: "OpenTelemetry severity number, 1 to 24: this one and more severe ones" }),
  severity_text: level.nullish().meta({ description: "Exactly this level, in any case" }),
  levels: z.array(level).max(MAX_LIST).nullish().meta({ description: "One of these levels" }),
  services: names.nullish().meta({ description: "One of these services" }),
  worker: text.nullish().meta({ description: "Name or id of a worker" }),
  function_id: text.nullish(),
  text: text.nullish().meta({ description: "Text in the body or in an attribute value, case-insensitive" }),
  regex: z
    .string()
    .max(512)
    .nullish()
    .meta({ description: "JavaScript regular expression, searched in the body; it has a time limit" }),
  filters: filtersSchema.nullish(),
  exclude: z.strictObject({ services: names.nullish(), text: text.nullish() }).nullish(),
});
export type LogFilterInput = z.infer<z.ZodObject<ReturnType<typeof logFilterMembers>>>;
type LogMembersInput = Omit<LogFilterInput, "query">;

/** Throws `invalid_input` if `regex` or `query` is not valid. */
export function logFilterOf({ query, ...given }: LogFilterInput, redactKeys: readonly string[] = []): LogFilter {
  if (query == null) return filterOf(given, [], redactKeys);
  const read = readLogQuery(query);
  rejectProblems(read.problems);
  return withQuery(given, read.query, redactKeys);
}

/**
 * Members that hold one value. If the query sets one that is already set, both must match, so the second becomes a
 * group.
 */
const SINGLE = [
  ...(["levels", "services", "worker", "function_id", "trace_id", "span_id", "text", "exclude"] as const),
];

function withQuery(given: LogMembersInput, { members, groups }: LogQuery, redactKeys: readonly string[]): LogFilter {
  if (given.regex != null && members.regex !== undefined)
    throw invalidInput("`query`: a regular expression is not possible together with `regex`");
  const { filters, severity_min, ...single } = members;
  const added: LogFilterGroup[] = groups.map(({ negated, any }) => ({
    negated,
    any: any.map((each) => withQuery({}, each, redactKeys)),
  }));
  for (const name of SINGLE)
    if (given[name] != null && single[name] !== undefined)
      added.push({ negated: false, any: [filterOf({ [name]: single[name] }, [], redactKeys)] });
  const merged = {
    ...(single as LogMembersInput),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)),
    severity_min: Math.max(given.severity_min ?? 0, severity_min ?? 0) || undefined,
    filters: [...(given.filters ?? []), ...((filters ?? []) as readonly Filter[])],
  };
  return filterOf(merged, added, redactKeys);
}

function filterOf(input: LogMembersInput, groups: readonly LogFilterGroup[], redactKeys: readonly string[]): LogFilter {
  if (input.regex != null) checkRegex(input.regex);
  return {
    startMs: input.start_time ?? undefined,
    endMs: input.end_time ?? undefined,
    traceId: input.trace_id?.toLowerCase(),
    spanId: input.span_id?.toLowerCase(),
    severityMin: input.severity_min ?? undefined,
    levels: levelsOf(input),
    services: input.services ?? undefined,
    worker: input.worker ?? undefined,
    functionId: input.function_id ?? undefined,
    text: lowerOrNone(input.text),
    regex: input.regex == null || input.regex === "" ? undefined : input.regex,
    filters: (input.filters ?? []).map((filter) => filterSchema.parse(filter)),
    excludeServices: input.exclude?.services ?? [],
    excludeText: lowerOrNone(input.exclude?.text),
    groups,
    redactKeys,
  };
}

/** Returns the levels that are in both members, because an entry must match each member that is given. */
function levelsOf({ levels, severity_text }: LogMembersInput): readonly string[] | undefined {
  const one = severity_text == null ? undefined : levelOf(severity_text);
  const several = levels?.map(levelOf);
  if (one === undefined) return several;
  return several === undefined || several.includes(one) ? [one] : [];
}

/** Returns the level for any spelling that loggers use. */
function levelOf(name: string): string {
  const severity = severityNumberOf(name);
  if (severity === undefined) return name.toUpperCase();
  return isFatal(severity) ? "FATAL" : severityTextOf(severity);
}

function checkRegex(source: string): void {
  try {
    compileRegex(source);
  } catch (error) {
    throw invalidInput(`\`regex\`: is not a regular expression: ${(error as Error).message}`);
  }
}

function lowerOrNone(value: string | null | undefined): string | undefined {
  return value == null || value === "" ? undefined : value.toLowerCase();
}

export function invalidInput(message: string): CallError {
  return new CallError("invalid_input", message);
}
