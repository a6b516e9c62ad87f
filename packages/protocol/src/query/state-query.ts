import { compileGlob } from "../wildcards.ts";
import { durationMs } from "./duration.ts";
import { attributeKey, fieldName, STATE_FIELDS, type STATE_TYPES, unknownField } from "./fields.ts";
import { activeTerms, type FieldTerm, type FilterTerm, parseFilter, type QueryProblem } from "./terms.ts";
import type { ReadQuery } from "./trace-query.ts";

/** What a query reads of a state item. */
export interface StateItem {
  readonly scope: string;
  readonly key: string;
  /** The value's JSON. */
  readonly json: string;
  readonly version: number;
  /** Size of `json` in bytes. */
  readonly bytes: number;
  /** Time of the last change, in milliseconds since 1970. */
  readonly updatedAtMs: number;
}

/**
 * A query in two parts: `scope` and `prefix` limit which items are read from the store, `matches` tests each of them.
 */
export interface StateQuery {
  /** All matching items have this scope. */
  readonly scope?: string;
  /** The keys of all matching items start with this. */
  readonly prefix?: string;
  /** `nowMs` is the time from which `updated` counts. */
  matches(item: StateItem, nowMs: number): boolean;
}

type Test = (item: Candidate) => boolean;

/** Parses a query of state items. */
export function readStateQuery(text: string): ReadQuery<StateQuery> {
  const { terms, problems } = parseFilter(text);
  const found = [...problems];
  const active = activeTerms(terms);
  const test = allOf(active, found);
  const scope = active.find((term) => isField(term, "scope") && term.op === "equals" && !term.negated);
  const key = active.find((term) => isField(term, "key") && !term.negated && prefixOf(term) !== undefined);
  const query: StateQuery = {
    ...(scope?.kind === "field" ? { scope: scope.value } : {}),
    ...(key?.kind === "field" ? { prefix: prefixOf(key) ?? "" } : {}),
    matches: (item, nowMs) => test(new Candidate(item, nowMs)),
  };
  return { query, problems: found };
}

function isField(term: FilterTerm, name: string): term is FieldTerm {
  return term.kind === "field" && fieldName(STATE_FIELDS, term.field) === name;
}

/** Returns the text with which all matching names start. */
function prefixOf({ op, value }: FieldTerm): string | undefined {
  if (op === "equals") return value;
  return op === "like" ? value.slice(0, value.indexOf("*")) : undefined;
}

/** An item whose value is parsed on first use. */
class Candidate {
  readonly item: StateItem;
  readonly nowMs: number;
  #value: { readonly parsed: unknown } | undefined;

  constructor(item: StateItem, nowMs: number) {
    this.item = item;
    this.nowMs = nowMs;
  }

  get value(): unknown {
    this.#value ??= { parsed: JSON.parse(this.item.json) };
    return this.#value.parsed;
  }
}

function allOf(terms: readonly FilterTerm[], problems: QueryProblem[]): Test {
  const tests = terms.map((term) => testOf(term, problems));
  return (candidate) => tests.every((test) => test(candidate));
}

/** Returns the test of a term. If the term is not possible, adds a problem and returns a test that all items pass. */
function testOf(term: FilterTerm, problems: QueryProblem[]): Test {
  const test = positiveTest(term, problems);
  if (test === undefined) return () => true;
  return term.negated ? (candidate) => !test(candidate) : test;
}

function positiveTest(term: FilterTerm, problems: QueryProblem[]): Test | undefined {
  const fail = (message: string): undefined => void problems.push({ at: term.at ?? 0, message });
  switch (term.kind) {
    case "group": {
      const any = term.any.map((terms) => allOf(terms, problems));
      return (candidate) => any.some((test) => test(candidate));
    }
    case "error":
      return fail('"error" is not possible for state, which has no errors; the text "error" needs quotation marks');
    case "regex":
      return fail("regular expressions are supported for log entries only");
    case "text": {
      const wanted = term.text.toLowerCase();
      return ({ item: { scope, key, json } }) => [scope, key, json].some((text) => text.toLowerCase().includes(wanted));
    }
    case "field":
      return fieldTest(term, problems);
  }
}

function fieldTest(term: FieldTerm, problems: QueryProblem[]): Test | undefined {
  const name = fieldName(STATE_FIELDS, term.field);
  const compare = comparison(term);
  switch (name) {
    case "scope":
    case "key":
      return ({ item }) => compare(item[name]);
    case "version":
      return ({ item }) => compare(item.version);
    case "size":
      return ({ item }) => compare(item.bytes);
    case "type":
      return ({ value }) => compare(typeOf(value));
    case "updated":
      return ageTest(term, problems);
    case "value":
      return ({ value }) => compare(value);
    default: {
      const path = pathOf(term.field);
      if (path !== undefined) return ({ value }) => valuesAt(value, path).some(compare);
      problems.push(unknownField(STATE_FIELDS, term));
      return undefined;
    }
  }
}

/** `updated<10m`: changed less than 10 minutes ago. */
function ageTest({ op, value, field, at = 0 }: FieldTerm, problems: QueryProblem[]): Test | undefined {
  const ms = durationMs(value);
  if (ms === undefined || !["gt", "gte", "lt", "lte"].includes(op)) {
    problems.push({ at, message: `expected ${field} with >, >=, < or <= and a time since then, e.g. ${field}<10m` });
    return undefined;
  }
  const wanted = comparison({ op, value: String(ms) });
  return ({ item, nowMs }) => wanted(nowMs - item.updatedAtMs);
}

/** Returns the path of `value.a.b` and `attr.a.b`: a name with a dot needs no prefix. */
function pathOf(field: string): readonly string[] | undefined {
  const path = field.startsWith("value.") ? field.slice("value.".length) : attributeKey(field);
  return path === undefined || path === "" ? undefined : path.split(".");
}

/** Returns the values at a path. In an array, a name that is not an index selects that member of each element. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): readonly unknown[] {
  if (name === undefined) return [value];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value) && !/^\d+$/.test(name)) return value.flatMap((each) => valuesAt(each, [name, ...rest]));
  return Object.hasOwn(value, name) ? valuesAt((value as Readonly<Record<string, unknown>>)[name], rest) : [];
}

function typeOf(value: unknown): (typeof STATE_TYPES)[number] {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as (typeof STATE_TYPES)[number]);
}

/** Returns the comparison of a value with a term's value. Only numbers and strings can be greater or less. */
function comparison({ op, value: wanted }: Pick<FieldTerm, "op" | "value">): (value: unknown) => boolean {
  switch (op) {
    case "exists":
      return () => true;
    case "equals":
      return (value) => textOf(value) === wanted;
    case "like": {
      const matches = compileGlob(wanted);
      return (value) => matches(textOf(value));
    }
    case "contains": {
      const part = wanted.toLowerCase();
      return (value) => textOf(value).toLowerCase().includes(part);
    }
    default:
      return (value) => {
        const order = orderOf(value, wanted);
        if (order === undefined) return false;
        if (op === "gt") return order > 0;
        if (op === "gte") return order >= 0;
        return op === "lt" ? order < 0 : order <= 0;
      };
  }
}

function orderOf(value: unknown, wanted: string): number | undefined {
  if (typeof value === "number") return Number.isNaN(Number(wanted)) ? undefined : value - Number(wanted);
  if (typeof value !== "string") return undefined;
  return value < wanted ? -1 : Number(value > wanted);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
