import {
  activeTerms,
  type EngineFilter,
  engineFilterOf,
  type FieldTerm,
  type FilterTerm,
} from "../../lib/filter-grammar.ts";
import { LEVELS } from "./log.ts";

/** Filter members that all log functions of the engine accept. The page adds the time range. */
export interface LogFilter {
  readonly levels?: readonly string[];
  readonly severity_min?: number;
  readonly services?: readonly string[];
  readonly worker?: string;
  readonly function_id?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly text?: string;
  readonly regex?: string;
  readonly filters?: readonly EngineFilter[];
  readonly exclude?: { readonly services?: readonly string[]; readonly text?: string };
}

/** Aliases of fields. */
const FIELDS: Readonly<Record<string, string>> = {
  level: "level",
  severity: "level",
  source: "source",
  service: "source",
  service_name: "source",
  fn: "fn",
  function: "fn",
  function_id: "fn",
  worker: "worker",
  trace: "trace",
  trace_id: "trace",
  span: "span",
  span_id: "span",
  body: "body",
  message: "body",
};
/** Names of fields in the engine's `filters`. */
const KEYS: Readonly<Record<string, string>> = {
  source: "service",
  fn: "function",
  worker: "worker",
  trace: "trace_id",
  span: "span_id",
  body: "body",
};
const FIRST_NUMBERS: Readonly<Record<string, number>> = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17, FATAL: 21 };

/** Operators of a negated level term. Every entry has a level, and a level contains only itself. */
const OPPOSITES = {
  equals: "not",
  contains: "not",
  exists: "not",
  gte: "lt",
  gt: "lte",
  lt: "gte",
  lte: "gt",
} as const;

/** Returns the canonical name of a field. Names of attributes are returned unchanged. */
export function fieldName(field: string): string {
  return FIELDS[field.toLowerCase()] ?? field;
}

/** Converts terms to the engine's filter. `problems` lists terms that it cannot express. */
export function logFilterOf(terms: readonly FilterTerm[]): {
  readonly filter: LogFilter;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const levels = new Set<string>();
  const services = new Set<string>();
  const notServices = new Set<string>();
  const filters: EngineFilter[] = [];
  const single: Partial<Record<"worker" | "function_id" | "trace_id" | "span_id" | "text" | "regex", string>> = {};
  let notText: string | undefined;
  let severityMin = 0;

  const addFilter = (term: FieldTerm, key?: string): void => {
    const filter = engineFilterOf(term, key);
    if (filter === undefined) problems.push(`-${term.field} cannot negate < or >; use the opposite operator instead`);
    else filters.push(filter);
  };
  const addLevel = (term: FieldTerm): void => {
    if (term.op === "exists") return;
    const range = levelRange(term.value);
    if (range === undefined) {
      problems.push(`unknown level ${term.value}; use ${LEVELS.join(", ")} or FATAL`);
      return;
    }
    const op = term.negated ? OPPOSITES[term.op] : term.op === "contains" ? "equals" : term.op;
    if (op === "equals") levels.add(range.level);
    else if (op === "gte") severityMin = Math.max(severityMin, range.first);
    else if (op === "gt") severityMin = Math.max(severityMin, range.last + 1);
    else filters.push(levelFilter(op, range));
  };
  const addField = (term: FieldTerm): void => {
    const name = fieldName(term.field);
    const isPlain = term.op === "equals" && !term.negated;
    const members = { worker: "worker", fn: "function_id", trace: "trace_id", span: "span_id" } as const;
    if (name === "level") addLevel(term);
    else if (name === "source" && isPlain) services.add(term.value);
    else if (name === "source" && term.op === "equals") notServices.add(term.value);
    else if (Object.hasOwn(members, name) && isPlain && single[members[name as keyof typeof members]] === undefined)
      single[members[name as keyof typeof members]] = term.value;
    else addFilter(term, KEYS[name]);
  };

  for (const term of activeTerms(terms)) {
    if (term.kind === "field") addField(term);
    else if (term.kind === "regex") {
      if (term.negated || single.regex !== undefined)
        problems.push("only one regular expression is allowed, and it cannot be negated");
      else single.regex = term.text;
    } else if (term.negated) {
      if (notText === undefined) notText = term.text;
      else filters.push({ key: "body", op: "not_contains", value: term.text });
    } else if (single.text === undefined) single.text = term.text;
    else filters.push({ key: "body", op: "contains", value: term.text });
  }
  const exclude = {
    ...(notServices.size > 0 ? { services: [...notServices] } : {}),
    ...(notText === undefined ? {} : { text: notText }),
  };
  return {
    problems,
    filter: {
      ...single,
      ...(levels.size > 0 ? { levels: [...levels] } : {}),
      ...(severityMin > 0 ? { severity_min: severityMin } : {}),
      ...(services.size > 0 ? { services: [...services] } : {}),
      ...(filters.length > 0 ? { filters } : {}),
      ...(Object.keys(exclude).length > 0 ? { exclude } : {}),
    },
  };
}

interface LevelRange {
  readonly level: string;
  readonly first: number;
  readonly last: number;
}

function levelRange(text: string): LevelRange | undefined {
  const name = text.toUpperCase();
  const level = name === "WARNING" ? "WARN" : name;
  const first = Object.hasOwn(FIRST_NUMBERS, level) ? FIRST_NUMBERS[level] : undefined;
  return first === undefined
    ? undefined
    : { level, first, last: level === "ERROR" || level === "FATAL" ? 24 : first + 3 };
}

function levelFilter(op: "lt" | "lte" | "not", { level, first, last }: LevelRange): EngineFilter {
  if (op === "lte") return { key: "severity_number", op: "lte", value: String(last) };
  // FATAL is the upper part of ERROR, not a level of its own.
  if (op === "lt" || level === "FATAL") return { key: "severity_number", op: "lt", value: String(first) };
  return { key: "level", op: "not_equals", value: level };
}
