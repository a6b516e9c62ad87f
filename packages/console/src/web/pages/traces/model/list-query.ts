import type { SearchOf } from "../../../app/search.ts";

export type TraceSearch = SearchOf<"traces">;

export const OPERATORS = ["equals", "not_equals", "contains", "not_contains", "gt", "gte", "lt", "lte", "exists", "not_exists"] as const;
export type Operator = (typeof OPERATORS)[number];

export interface AttributeFilter {
  readonly key: string;
  readonly op: Operator;
  readonly value: string;
}

const PATTERN = new RegExp(`^(.+?):(${[...OPERATORS].sort((a, b) => b.length - a.length).join("|")}):(.*)$`, "s");
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `http.route:equals:/orders`, as the address holds it. Undefined: it is none. */
export function readAttributeFilter(text: string): AttributeFilter | undefined {
  const [, key, op, value] = PATTERN.exec(text) ?? [];
  if (key === undefined || op === undefined || value === undefined) return undefined;
  return { key, op: op as Operator, value };
}

export function writeAttributeFilter({ key, op, value }: AttributeFilter): string {
  return `${key}:${op}:${value}`;
}

/** `15m` in milliseconds; undefined for all that is kept. */
export function rangeMs(range: string | undefined): number | undefined {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(range ?? "") ?? [];
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** What the address asks for, as the filters of engine::traces::list. A rolling range ends now. */
export function filtersOf(search: TraceSearch, nowMs: number): Record<string, unknown> {
  const rolling = rangeMs(search.range);
  const filters = (search.attr ?? []).flatMap((text) => {
    const filter = readAttributeFilter(text);
    if (filter === undefined) return [];
    return [filter.op === "exists" || filter.op === "not_exists" ? { key: filter.key, op: filter.op } : filter];
  });
  if (search.service !== undefined) filters.push({ key: "service", op: "equals", value: search.service });
  const wanted = {
    text: search.q,
    status: search.status,
    function_id: search.fn,
    name: search.op,
    trigger_type: search.trigger,
    min_duration_ms: search.min,
    max_duration_ms: search.max,
    start_time: search.from ?? (rolling === undefined ? undefined : nowMs - rolling),
    end_time: search.to,
    filters: filters.length === 0 ? undefined : filters,
    include_internal: search.system === true ? true : undefined,
  };
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
}

/** What filters the list, apart from the order and the looks of it. */
export const FILTER_KEYS = ["q", "status", "service", "fn", "op", "trigger", "min", "max", "from", "to", "range", "attr"] as const;

/** What of the address hides traces, for people; undefined when nothing does. */
export function filterText(search: TraceSearch): string | undefined {
  const parts = FILTER_KEYS.flatMap((key) => {
    const value = search[key];
    if (value === undefined || (key === "range" && value === "all")) return [];
    return [`${key} ${Array.isArray(value) ? value.join(", ") : String(value)}`];
  });
  return parts.length === 0 ? undefined : parts.join(" · ");
}

export const NO_FILTERS: { readonly [Key in (typeof FILTER_KEYS)[number]]: undefined } = {
  q: undefined,
  status: undefined,
  service: undefined,
  fn: undefined,
  op: undefined,
  trigger: undefined,
  min: undefined,
  max: undefined,
  from: undefined,
  to: undefined,
  range: undefined,
  attr: undefined,
};

/** Columns of the list that the engine sorts by. */
export const SORTS: Readonly<Record<string, string>> = { timestamp: "start_time", duration: "duration", name: "name", spans: "spans" };

export function sortOf(search: TraceSearch): { readonly sort_by: string; readonly sort_order: "asc" | "desc" } {
  return { sort_by: SORTS[search.sort ?? ""] ?? "start_time", sort_order: search.dir ?? "desc" };
}
