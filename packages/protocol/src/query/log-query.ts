import {
  attributeKey,
  type EngineFilter,
  engineFilterOf,
  fieldName,
  LOG_FIELDS,
  LOG_LEVELS,
  unknownField,
} from "./fields.ts";
import { activeTerms, type FieldTerm, type FilterTerm, parseFilter, type QueryProblem } from "./terms.ts";
import type { QueryGroup, ReadQuery } from "./trace-query.ts";

/** Members of the input of engine::logs::list. All of them must match. */
export interface LogMembers {
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

/** A query in two parts: indexes evaluate `members`, and `groups` are tested on each entry. */
export interface LogQuery {
  readonly members: LogMembers;
  readonly groups: readonly QueryGroup<LogQuery>[];
}

/** First OpenTelemetry severity number of each level. */
const FIRST_NUMBERS: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };
const ERROR_NUMBER = 17;
const LAST_NUMBER = 24;

/** Keys in the engine's filters. */
const KEYS = {
  service: "service",
  function: "function",
  worker: "worker",
  trace: "trace_id",
  span: "span_id",
  message: "body",
  node: "resource.svc.node",
} as const;
const EQUAL_MEMBERS = { worker: "worker", function: "function_id", trace: "trace_id", span: "span_id" } as const;

/**
 * Operator that has the same effect as a negated operator of a level term. It exists because every entry has a level.
 */
const OPPOSITES = { equals: "not", gte: "lt", gt: "lte", lt: "gte", lte: "gt" } as const;

/** Parses a query of log entries. */
export function readLogQuery(text: string): ReadQuery<LogQuery> {
  const { terms, problems } = parseFilter(text);
  const found = [...problems];
  return { query: logQueryOf(terms, found), problems: found };
}

/** Converts terms to a query. Leaves out terms that are not possible, and adds a problem for each of them. */
export function logQueryOf(terms: readonly FilterTerm[], problems: QueryProblem[]): LogQuery {
  return buildQuery(terms, problems, true);
}

function buildQuery(terms: readonly FilterTerm[], problems: QueryProblem[], isOutermost: boolean): LogQuery {
  const builder = new LogQueryBuilder(problems, isOutermost);
  for (const term of activeTerms(terms)) builder.add(term);
  return builder.build();
}

class LogQueryBuilder {
  readonly #problems: QueryProblem[];
  readonly #isOutermost: boolean;
  readonly #single: Partial<Record<"worker" | "function_id" | "trace_id" | "span_id" | "text" | "regex", string>> = {};
  readonly #levels = new Set<string>();
  readonly #services = new Set<string>();
  readonly #notServices = new Set<string>();
  readonly #filters: EngineFilter[] = [];
  readonly #groups: QueryGroup<LogQuery>[] = [];
  #severityMin = 0;
  #notText: string | undefined;

  constructor(problems: QueryProblem[], isOutermost: boolean) {
    this.#problems = problems;
    this.#isOutermost = isOutermost;
  }

  build(): LogQuery {
    const exclude = {
      ...(this.#notServices.size > 0 ? { services: [...this.#notServices] } : {}),
      ...(this.#notText === undefined ? {} : { text: this.#notText }),
    };
    return {
      members: {
        ...this.#single,
        ...(this.#levels.size > 0 ? { levels: [...this.#levels] } : {}),
        ...(this.#severityMin > 0 ? { severity_min: this.#severityMin } : {}),
        ...(this.#services.size > 0 ? { services: [...this.#services] } : {}),
        ...(this.#filters.length > 0 ? { filters: this.#filters } : {}),
        ...(Object.keys(exclude).length > 0 ? { exclude } : {}),
      },
      groups: this.#groups,
    };
  }

  add(term: FilterTerm): void {
    switch (term.kind) {
      case "group":
        this.#addGroup(term.negated, term.any);
        break;
      case "error":
        if (term.negated) this.#filters.push({ key: "severity_number", op: "lt", value: String(ERROR_NUMBER) });
        else this.#severityMin = Math.max(this.#severityMin, ERROR_NUMBER);
        break;
      case "text":
        this.#addText(term.text, term);
        break;
      case "regex":
        if (term.negated || !this.#isOutermost || this.#single.regex !== undefined)
          this.#problems.push({
            at: term.at ?? 0,
            message: "only one regular expression is possible, outside of parentheses and not negated",
          });
        else this.#single.regex = term.text;
        break;
      case "field":
        this.#addField(term);
    }
  }

  #addGroup(negated: boolean, any: readonly (readonly FilterTerm[])[]): void {
    this.#groups.push({ negated, any: any.map((terms) => buildQuery(terms, this.#problems, false)) });
  }

  #addText(text: string, term: FilterTerm): void {
    if (term.negated && this.#notText === undefined) this.#notText = text;
    else if (!term.negated && this.#single.text === undefined) this.#single.text = text;
    else this.#addGroup(term.negated, [[{ ...term, negated: false }]]);
  }

  #addField(term: FieldTerm): void {
    const name = fieldName(LOG_FIELDS, term.field);
    if (name === undefined) {
      const key = attributeKey(term.field);
      if (key === undefined) this.#problems.push(unknownField(LOG_FIELDS, term));
      else this.#addFilter(term, key);
    } else if (name === "level") this.#addLevel(term);
    else if (name === "service" && term.op === "equals")
      (term.negated ? this.#notServices : this.#services).add(term.value);
    else if (name in EQUAL_MEMBERS && term.op === "equals")
      this.#addEqual(term, EQUAL_MEMBERS[name as keyof typeof EQUAL_MEMBERS]);
    else this.#addFilter(term, KEYS[name]);
  }

  /** Each member takes one value, so a second value becomes a group. */
  #addEqual(term: FieldTerm, member: (typeof EQUAL_MEMBERS)[keyof typeof EQUAL_MEMBERS]): void {
    if (!term.negated && this.#single[member] === undefined) this.#single[member] = term.value;
    else this.#addGroup(term.negated, [[{ ...term, negated: false }]]);
  }

  #addFilter(term: FieldTerm, key: string): void {
    const filter = engineFilterOf(term, key);
    if (filter === undefined) this.#addGroup(true, [[{ ...term, negated: false }]]);
    else this.#filters.push(filter);
  }

  #addLevel(term: FieldTerm): void {
    const range = levelRange(term.value);
    if (range === undefined || term.op === "exists" || term.op === "contains" || term.op === "like") {
      this.#problems.push({
        at: term.at ?? 0,
        message: `expected a level: ${LOG_LEVELS.join(", ")}, e.g. level:error or level>=warn`,
      });
      return;
    }
    const op = term.negated ? OPPOSITES[term.op] : term.op;
    if (op === "equals") this.#levels.add(range.level);
    else if (op === "gte") this.#severityMin = Math.max(this.#severityMin, range.first);
    else if (op === "gt") this.#severityMin = Math.max(this.#severityMin, range.last + 1);
    else this.#filters.push(levelFilter(op, range));
  }
}

interface LevelRange {
  readonly level: string;
  readonly first: number;
  readonly last: number;
}

function levelRange(text: string): LevelRange | undefined {
  const name = text.toLowerCase();
  const level = name === "warning" ? "warn" : name;
  const first = Object.hasOwn(FIRST_NUMBERS, level) ? FIRST_NUMBERS[level] : undefined;
  if (first === undefined) return undefined;
  return { level: level.toUpperCase(), first, last: first >= ERROR_NUMBER ? LAST_NUMBER : first + 3 };
}

function levelFilter(op: "lt" | "lte" | "not", { level, first, last }: LevelRange): EngineFilter {
  if (op === "lte") return { key: "severity_number", op: "lte", value: String(last) };
  // Compare numbers for FATAL, because entries of level FATAL are stored with the level text ERROR.
  if (op === "lt" || level === "FATAL") return { key: "severity_number", op: "lt", value: String(first) };
  return { key: "level", op: "not_equals", value: level };
}
