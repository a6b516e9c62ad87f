import { activeTerms, type EngineFilter, engineFilterOf, type FieldTerm, type FilterTerm } from "../../lib/filter-grammar.ts";
import { LEVELS } from "./log.ts";

/** The members that every function over log entries understands; without the time, which the page adds. */
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

/** Other words for the same field. */
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
/** What the engine calls them in its list of filters. */
const KEYS: Readonly<Record<string, string>> = { source: "service", fn: "function", worker: "worker", trace: "trace_id", span: "span_id", body: "body" };
const FIRST_NUMBERS: Readonly<Record<string, number>> = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17, FATAL: 21 };

/** The field that a term is about, by its one name; an attribute's name as it is. */
export function fieldName(field: string): string {
  return FIELDS[field.toLowerCase()] ?? field;
}

/** What the engine is asked for by these terms, and what of them it cannot be asked. */
export function logFilterOf(terms: readonly FilterTerm[]): { readonly filter: LogFilter; readonly problems: readonly string[] } {
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
    if (filter === undefined) problems.push(`-${term.field} with greater or less: turn the sign round instead`);
    else filters.push(filter);
  };
  const addLevel = (term: FieldTerm): void => {
    const name = term.value.toUpperCase();
    const first = FIRST_NUMBERS[name === "WARNING" ? "WARN" : name];
    if (first === undefined) {
      problems.push(`there is no level ${term.value}; levels are ${LEVELS.join(", ")} and FATAL`);
      return;
    }
    const { op, negated } = term;
    const last = name === "ERROR" || name === "FATAL" ? 24 : first + 3;
    if ((op === "equals" || op === "contains") && !negated) levels.add(name === "WARNING" ? "WARN" : name);
    else if (op === "equals" || op === "contains") filters.push({ key: "level", op: "not_equals", value: name });
    else if ((op === "gte" && !negated) || (op === "lt" && negated)) severityMin = Math.max(severityMin, first);
    else if ((op === "gt" && !negated) || (op === "lte" && negated)) severityMin = Math.max(severityMin, last + 1);
    else if ((op === "lt" && !negated) || (op === "gte" && negated)) filters.push({ key: "severity_number", op: "lt", value: String(first) });
    else if (op !== "exists") filters.push({ key: "severity_number", op: "lte", value: String(last) });
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
      if (term.negated || single.regex !== undefined) problems.push("only one regular expression can be searched for, and not by its opposite");
      else single.regex = term.text;
    } else if (term.negated) {
      if (notText === undefined) notText = term.text;
      else filters.push({ key: "body", op: "not_contains", value: term.text });
    } else if (single.text === undefined) single.text = term.text;
    else filters.push({ key: "body", op: "contains", value: term.text });
  }
  const exclude = { ...(notServices.size > 0 ? { services: [...notServices] } : {}), ...(notText === undefined ? {} : { text: notText }) };
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
