import {
  type FieldTerm,
  type FilterTerm,
  fieldName,
  formatTerm,
  LOG_FIELDS,
  parseFilter,
} from "@svc-runtime/protocol/query";
import type { SearchOf } from "../../app/search.ts";
import { attrParam, termOfAttrParam } from "../../lib/attr-param.ts";

export type LogSearch = SearchOf<"logs">;
/** Search parameters that filter entries. */
export type FilterSearch = Pick<
  LogSearch,
  "q" | "level" | "source" | "not" | "trace" | "span" | "worker" | "fn" | "attr" | "off"
>;

function field(name: string, value: string, negated = false): FieldTerm {
  return { kind: "field", field: name, op: "equals", value, negated, off: false };
}

/** Returns the filters that are shown as chips. These are all search parameters except the typed text (`q`). */
export function chipTerms(search: FilterSearch): readonly FilterTerm[] {
  return [
    ...(search.level ?? []).map((value) => field("level", value)),
    ...(search.source ?? []).map((value) => field("source", value)),
    ...(search.not ?? []).map((value) => field("source", value, true)),
    ...(["worker", "fn", "trace", "span"] as const).flatMap((name) =>
      search[name] === undefined ? [] : [field(name, search[name])],
    ),
    ...(search.attr ?? []).flatMap((param) => termOfAttrParam(param) ?? []),
    ...(search.off ?? []).flatMap((text) => parseFilter(text).terms.map((term) => ({ ...term, off: true }))),
  ];
}

/**
 * Returns the search parameters for these terms. Some terms have no parameter of their own, for example words and
 * `level>=warn`. These are returned as `rest` and stay in the search box.
 */
export function searchOfChips(terms: readonly FilterTerm[]): {
  readonly search: Omit<FilterSearch, "q">;
  readonly rest: readonly FilterTerm[];
} {
  const lists = {
    level: new Set<string>(),
    source: new Set<string>(),
    not: new Set<string>(),
    attr: new Set<string>(),
    off: new Set<string>(),
  };
  const single: Partial<Record<"worker" | "fn" | "trace" | "span", string>> = {};
  const rest: FilterTerm[] = [];
  for (const term of terms) {
    if (term.off) lists.off.add(formatTerm({ ...term, off: false }));
    else if (term.kind !== "field") rest.push(term);
    else placeField(term, lists, single, rest);
  }
  const listOf = (set: ReadonlySet<string>): readonly string[] | undefined => (set.size === 0 ? undefined : [...set]);
  return {
    rest,
    search: {
      level: listOf(lists.level)?.slice(),
      source: listOf(lists.source)?.slice(),
      not: listOf(lists.not)?.slice(),
      attr: listOf(lists.attr)?.slice(),
      off: listOf(lists.off)?.slice(),
      worker: single.worker,
      fn: single.fn,
      trace: single.trace,
      span: single.span,
    },
  };
}

/** Search parameters of fields that have one value. */
const PARAMS = { worker: "worker", function: "fn", trace: "trace", span: "span" } as const;

function placeField(
  term: FieldTerm,
  lists: Readonly<Record<"level" | "source" | "not" | "attr", Set<string>>>,
  single: Partial<Record<"worker" | "fn" | "trace" | "span", string>>,
  rest: FilterTerm[],
): void {
  const name = fieldName(LOG_FIELDS, term.field);
  const isPlain = term.op === "equals" && !term.negated;
  if (name === "level" && isPlain) lists.level.add(term.value.toUpperCase());
  else if (name === "service" && term.op === "equals") (term.negated ? lists.not : lists.source).add(term.value);
  else if (name !== undefined && name in PARAMS && isPlain && single[PARAMS[name as keyof typeof PARAMS]] === undefined)
    single[PARAMS[name as keyof typeof PARAMS]] = term.value;
  else if (term.field.startsWith("attr.") || term.field.startsWith("resource.")) lists.attr.add(attrParam(term));
  else rest.push(term);
}

/** Returns true if two filters are the same, even if one of them is switched off. */
export function isSameTerm(a: FilterTerm, b: FilterTerm): boolean {
  return formatTerm({ ...a, off: false }) === formatTerm({ ...b, off: false });
}
