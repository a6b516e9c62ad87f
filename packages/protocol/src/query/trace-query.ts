import { durationMs } from "./duration.ts";
import {
  attributeKey,
  type EngineFilter,
  engineFilterOf,
  fieldName,
  TRACE_FIELDS,
  TRACE_STATUSES,
  unknownField,
} from "./fields.ts";
import { activeTerms, type FieldTerm, type FilterTerm, parseFilter, type QueryProblem } from "./terms.ts";

/** Members of the input of engine::traces::list. All of them must match. */
export interface TraceMembers {
  readonly status?: string;
  readonly with_errors?: true;
  readonly function_id?: string;
  readonly worker?: string;
  readonly trigger_type?: string;
  readonly trace_id?: string;
  readonly text?: string;
  readonly min_duration_ms?: number;
  readonly max_duration_ms?: number;
  readonly filters?: readonly EngineFilter[];
}

/** A query in two parts: indexes evaluate `members`, and `groups` are tested on each trace. */
export interface TraceQuery {
  readonly members: TraceMembers;
  readonly groups: readonly QueryGroup<TraceQuery>[];
}

/** Matches if one of the queries matches. If `negated`, matches if none of the queries matches. */
export interface QueryGroup<Query> {
  readonly negated: boolean;
  readonly any: readonly Query[];
}

export interface ReadQuery<Query> {
  readonly query: Query;
  readonly problems: readonly QueryProblem[];
}

/** Difference between `>` and `>=`, because durations are stored in microseconds. */
const STEP_MS = 0.001;

/** Parses a query of traces. */
export function readTraceQuery(text: string): ReadQuery<TraceQuery> {
  const { terms, problems } = parseFilter(text);
  const found = [...problems];
  return { query: traceQueryOf(terms, found), problems: found };
}

/** Converts terms to a query. Leaves out terms that are not possible, and adds a problem for each of them. */
export function traceQueryOf(terms: readonly FilterTerm[], problems: QueryProblem[]): TraceQuery {
  const builder = new TraceQueryBuilder(problems);
  for (const term of activeTerms(terms)) builder.add(term);
  return builder.build();
}

/** Members that are equal to the value of a field. */
const EQUAL_MEMBERS = {
  status: "status",
  function: "function_id",
  worker: "worker",
  trigger: "trigger_type",
  trace: "trace_id",
} as const;
/** Keys in the engine's filters, for other comparisons and for fields without a member. */
const KEYS = {
  function: "svc.function_id",
  worker: "service",
  trigger: "svc.trigger.type",
  service: "service",
  name: "name",
  trace: "trace_id",
  node: "resource.svc.node",
} as const;

class TraceQueryBuilder {
  readonly #problems: QueryProblem[];
  readonly #members: { -readonly [Name in keyof TraceMembers]?: TraceMembers[Name] } = {};
  readonly #filters: EngineFilter[] = [];
  readonly #words: string[] = [];
  readonly #groups: QueryGroup<TraceQuery>[] = [];

  constructor(problems: QueryProblem[]) {
    this.#problems = problems;
  }

  build(): TraceQuery {
    return {
      members: {
        ...this.#members,
        ...(this.#words.length === 0 ? {} : { text: this.#words.join(" ") }),
        ...(this.#filters.length === 0 ? {} : { filters: this.#filters }),
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
        if (term.negated) this.#addNegated(term);
        else this.#members.with_errors = true;
        break;
      case "text":
        if (term.negated) this.#addNegated(term);
        else this.#words.push(term.text);
        break;
      case "regex":
        this.#problems.push({ at: term.at ?? 0, message: "regular expressions are supported for log entries only" });
        break;
      case "field":
        this.#addField(term);
    }
  }

  #addGroup(negated: boolean, any: readonly (readonly FilterTerm[])[]): void {
    this.#groups.push({ negated, any: any.map((terms) => traceQueryOf(terms, this.#problems)) });
  }

  #addNegated(term: FilterTerm): void {
    this.#addGroup(true, [[{ ...term, negated: false }]]);
  }

  #addField(term: FieldTerm): void {
    const name = fieldName(TRACE_FIELDS, term.field);
    if (name === undefined) {
      const key = attributeKey(term.field);
      if (key === undefined) this.#problems.push(unknownField(TRACE_FIELDS, term));
      else this.#addFilter(term, key);
    } else if (name === "duration") this.#addDuration(term);
    else if (name === "status") this.#addStatus(term);
    else if (name in EQUAL_MEMBERS && term.op === "equals")
      this.#addEqual(term, EQUAL_MEMBERS[name as keyof typeof EQUAL_MEMBERS], term.value);
    else this.#addFilter(term, KEYS[name]);
  }

  /** Each member takes one value, so a second value becomes a group. */
  #addEqual(term: FieldTerm, member: (typeof EQUAL_MEMBERS)[keyof typeof EQUAL_MEMBERS], value: string): void {
    if (term.negated) this.#addNegated(term);
    else if (this.#members[member] === undefined) this.#members[member] = value;
    else this.#addGroup(false, [[term]]);
  }

  #addFilter(term: FieldTerm, key: string): void {
    const filter = engineFilterOf(term, key);
    if (filter === undefined) this.#addNegated(term);
    else this.#filters.push(filter);
  }

  #addStatus(term: FieldTerm): void {
    const status = TRACE_STATUSES.find((each) => each === term.value.toLowerCase());
    if (status === undefined || term.op !== "equals")
      this.#problems.push({ at: term.at ?? 0, message: `expected status:ok, status:error or status:pending` });
    else this.#addEqual(term, "status", status);
  }

  #addDuration(term: FieldTerm): void {
    const ms = durationMs(term.value);
    if (ms === undefined || !["gt", "gte", "lt", "lte"].includes(term.op)) {
      this.#problems.push({
        at: term.at ?? 0,
        message: `expected ${term.field} with >, >=, < or <= and a duration, e.g. ${term.field}>100ms`,
      });
      return;
    }
    if (term.negated) this.#addNegated(term);
    else if (term.op === "gt" || term.op === "gte") {
      const least = term.op === "gt" ? ms + STEP_MS : ms;
      this.#members.min_duration_ms = Math.max(this.#members.min_duration_ms ?? 0, least);
    } else {
      const most = term.op === "lt" ? ms - STEP_MS : ms;
      this.#members.max_duration_ms = Math.min(this.#members.max_duration_ms ?? Number.POSITIVE_INFINITY, most);
    }
  }
}
