import type { Database, SqlValue } from "@svc-runtime/engine/store";
import type { SpanRecord } from "../../telemetry-records.ts";
import { MAX_LISTED_SPANS } from "../span-store.ts";
import { groupsMatcher, type SpanCondition, spanConditions, traceIdsOf } from "../trace-match.ts";
import type { TraceFilters, TraceListRequest, TracePosition, TraceSort } from "../trace-query.ts";
import { SPANS_PER_TRACE } from "./schema.ts";
import { readSpan } from "./span-json.ts";
import { serviceQuery, wordQuery } from "./span-words.ts";
import { COLUMNS, factsOf, type TraceSqlRow } from "./trace-rows.ts";

/**
 * Sets of fewer traces than this are read from an index and sorted. For larger sets a scan is used, because it finds
 * members soon.
 */
const MAX_SET = 20_000;
/** Number of rows that the first query of a scan reads. Later queries read more, up to `MAX_WINDOW`. */
const FIRST_WINDOW = 256;
const MAX_WINDOW = 4_096;
/**
 * Maximum search time of one request, in milliseconds. After it, the request returns a short page, because other
 * requests wait for the thread.
 */
const BUDGET_MS = 150;
/** Maximum number of services that one search by name may expand to. */
const MAX_SERVICES = 50;

export interface SelectedTraces {
  readonly rows: readonly { readonly row: TraceSqlRow; readonly spans: readonly string[] }[];
  readonly total: number;
  readonly totalIsExact: boolean;
  readonly next: TracePosition | undefined;
}

const SORTS: Readonly<Record<TraceSort, { readonly column: string; readonly index: string }>> = {
  start_time: { column: "start_us", index: "traces_start" },
  duration: { column: "duration_us", index: "traces_duration" },
  name: { column: "root_lower", index: "traces_name" },
  spans: { column: "span_count", index: "traces_spans" },
};

type Found = {
  readonly no: number;
  readonly value: string | number;
};

interface Where {
  readonly sql: string[];
  readonly parameters: SqlValue[];
}

/** Returns the queries for lists. `budgetMs` is the search time after which a request returns a short page. */
export function traceSelector(database: Database, { budgetMs = BUDGET_MS }: { readonly budgetMs?: number } = {}) {
  const totals = database.prepare<{ readonly traces: number; readonly internal: number }>(
    "SELECT traces, internal FROM totals",
  );
  const countWords = database.prepare<{ readonly count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${MAX_SET})`,
  );
  const traceRow = database.prepare<TraceSqlRow>(`SELECT no, ${COLUMNS} FROM traces WHERE no = ?`);
  const rootSpan = database.prepare<{ readonly data: string }>(
    `SELECT data FROM spans WHERE id / ${SPANS_PER_TRACE} = ? AND span_id = ?`,
  );
  const traceSpans = database.prepare<{ readonly data: string }>(
    "SELECT data FROM spans WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
  );
  const serviceNames = database.prepare<{ readonly name: string }>("SELECT name FROM services");

  function textsOf(no: number, limit: number): string[] {
    return traceSpans.all(no * SPANS_PER_TRACE, (no + 1) * SPANS_PER_TRACE - 1, limit).map(({ data }) => data);
  }

  /**
   * Splits the span conditions into two parts: sets of traces that the word index finds, and a check of single traces.
   * A condition on a frequent word goes into the check: a scan in order finds such traces soon, and reading the spans
   * of one trace is faster than a query of the index for all of them.
   */
  function spanParts(filters: TraceFilters) {
    const sets: string[] = [];
    const isSet = (query: string): boolean => {
      if ((countWords.get(query)?.count ?? 0) >= MAX_SET) return false;
      sets.push(query);
      return true;
    };
    const services = servicesLike(filters.service_name);
    if (services !== undefined) isSet(services.length === 0 ? NO_WORD : serviceQuery(services));
    const toRead = spanConditions(filters).filter(({ lookup, negated }) => {
      if (lookup === undefined || negated) return true;
      if (lookup.by !== "words") return !isSet(wordQuery(lookup)) || !lookup.exact;
      const rare = lookup.words.filter((word) => !isFrequent(word));
      return rare.length === 0 || !isSet(wordQuery({ ...lookup, words: rare })) || rare.length < lookup.words.length;
    });
    const matchesGroups = groupsMatcher(filters);
    const check = (no: number): boolean => {
      if (toRead.length > 0 && !matchesJson(toRead, textsOf(no, SPANS_PER_TRACE))) return false;
      return (
        matchesGroups === undefined ||
        matchesGroups(factsOf(traceRow.get(no) as TraceSqlRow), () => textsOf(no, SPANS_PER_TRACE).map(readSpan))
      );
    };
    return { sets, check, hasCheck: toRead.length > 0 || matchesGroups !== undefined };
  }

  /**
   * Returns true if the word is in many spans. The count is fast, because the word must match exactly. For a prefix,
   * the index would have to merge all words that begin with it.
   */
  function isFrequent(word: string): boolean {
    return (countWords.get(`"${word}"`)?.count ?? 0) >= MAX_SET;
  }

  /**
   * Returns the services whose name contains `part`. Returns undefined in two cases: there is no such filter, or it
   * matches too many services.
   */
  function servicesLike(part: string | undefined): readonly string[] | undefined {
    if (part === undefined) return undefined;
    const lower = part.toLowerCase();
    const names = serviceNames.all().flatMap(({ name }) => (name.toLowerCase().includes(lower) ? [name] : []));
    return names.length > MAX_SERVICES ? undefined : names;
  }

  function list(request: TraceListRequest): SelectedTraces {
    const { filters } = request;
    const { sets, check, hasCheck } = spanParts(filters);
    const where = factsWhere(filters);
    const set = setOf(filters, sets);
    // Without a check, a single query of the set returns the complete result. A time limit would only cause more
    // requests.
    const search = new Search(request, check, set !== undefined && !hasCheck ? Number.POSITIVE_INFINITY : budgetMs);
    if (set !== undefined) searchSet(search, request, { set, where });
    else searchAll(search, request, where);
    return {
      rows: search.found.map(({ no }) => ({
        row: traceRow.get(no) as TraceSqlRow,
        spans: spansFor(no, request.spans),
      })),
      ...totalOf(search, { filters, where, isSet: set !== undefined, hasCheck }),
      next: search.next,
    };
  }

  /** Returns the candidate traces if an index finds them and they are few enough. */
  function setOf(filters: TraceFilters, sets: readonly string[]): Where | undefined {
    const parts: Where = { sql: [], parameters: [] };
    const ids = traceIdsOf(filters);
    if (ids !== undefined) add(parts, `trace_id IN (${ids.map(() => "?").join(", ")})`, ...ids);
    for (const query of sets)
      add(parts, `no IN (SELECT rowid / ${SPANS_PER_TRACE} FROM words WHERE words MATCH ?)`, query);
    const status = filters.status?.toLowerCase();
    if (status !== undefined && status !== "ok" && isSmall("status = ? AND status <> 'ok'", [status]))
      add(parts, "status = ? AND status <> 'ok'", status);
    if (filters.with_errors && isSmall("error_count > 0", [])) add(parts, "error_count > 0");
    const { min_duration_ms } = filters;
    if (
      parts.sql.length === 0 &&
      min_duration_ms !== undefined &&
      isSmall("duration_us >= ?", [min_duration_ms * 1_000])
    )
      add(parts, "duration_us >= ?", min_duration_ms * 1_000);
    return parts.sql.length === 0 ? undefined : parts;
  }

  function isSmall(sql: string, parameters: readonly SqlValue[]): boolean {
    const counted = database.prepare<{ readonly count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM traces WHERE ${sql} LIMIT ${MAX_SET})`,
    );
    return (counted.get(...parameters)?.count ?? 0) < MAX_SET;
  }

  function searchSet(
    search: Search,
    { sortBy, descending }: TraceListRequest,
    { set, where }: { readonly set: Where; readonly where: Where },
  ): void {
    const { column } = SORTS[sortBy];
    const direction = descending ? "DESC" : "ASC";
    // The plus prevents that SQLite uses the sort index, which would scan all traces. The set is small, so sorting it
    // is faster.
    const sql = `SELECT no, ${column} AS value FROM traces WHERE ${[...set.sql, ...where.sql].join(" AND ")} ORDER BY +${column} ${direction}, no ${direction}`;
    const found = database.prepare<Found>(sql).all(...set.parameters, ...where.parameters);
    search.setSize = found.length;
    for (const one of found) if (search.take(one)) return;
    search.isComplete = true;
  }

  /** Scans all traces in order, window by window. */
  function searchAll(search: Search, { sortBy, descending, after }: TraceListRequest, where: Where): void {
    let from: TracePosition | undefined = after;
    for (let window = FIRST_WINDOW; ; window = Math.min(MAX_WINDOW, 4 * window)) {
      const sql = windowSql({ sortBy, descending, isBehind: from !== undefined, where, window });
      const position = from === undefined ? [] : [from.value, from.tie];
      const rows = database.prepare<Found & { readonly fits: number }>(sql).all(...where.parameters, ...position);
      for (const row of rows) if (row.fits === 1 ? search.take(row) : search.pass(row)) return;
      const last = rows.at(-1);
      if (last === undefined || rows.length < window) break;
      from = { value: last.value, tie: last.no };
    }
    search.isComplete = true;
  }

  function spansFor(no: number, wanted: TraceListRequest["spans"]): readonly string[] {
    if (wanted === "none") return [];
    if (wanted === "all") return textsOf(no, MAX_LISTED_SPANS);
    const root = rootSpan.get(no, traceRow.get(no)?.root_span_id ?? "");
    return root === undefined ? [] : [root.data];
  }

  function totalOf(
    search: Search,
    {
      filters,
      where,
      isSet,
      hasCheck,
    }: { readonly filters: TraceFilters; readonly where: Where; readonly isSet: boolean; readonly hasCheck: boolean },
  ): { readonly total: number; readonly totalIsExact: boolean } {
    if (search.isComplete && search.beganAtStart) return { total: search.matched, totalIsExact: true };
    if (isSet && !hasCheck) return { total: search.setSize, totalIsExact: true };
    const counted = totals.get() ?? { traces: 0, internal: 0 };
    if (!isSet && !hasCheck && where.sql.every((sql) => sql === NOT_INTERNAL))
      return { total: counted.traces - (filters.include_internal ? 0 : counted.internal), totalIsExact: true };
    return { total: search.matched + (search.next === undefined ? 0 : 1), totalIsExact: false };
  }

  return { list };
}

/** Returns the SQL for one window of traces in order. One column is 1 if the trace matches. */
function windowSql(query: {
  readonly sortBy: TraceSort;
  readonly descending: boolean;
  readonly isBehind: boolean;
  readonly where: Where;
  readonly window: number;
}): string {
  const { column, index } = SORTS[query.sortBy];
  const direction = query.descending ? "DESC" : "ASC";
  const conditions = query.where.sql.length === 0 ? "1" : query.where.sql.join(" AND ");
  const behind = query.isBehind ? `WHERE (${column}, no) ${query.descending ? "<" : ">"} (?, ?)` : "";
  return `SELECT no, ${column} AS value, (${conditions}) AS fits FROM traces INDEXED BY ${index} ${behind} ORDER BY ${column} ${direction}, no ${direction} LIMIT ${query.window}`;
}

/** Collects the rows of a page from traces that arrive in order. */
class Search {
  readonly found: Found[] = [];
  readonly beganAtStart: boolean;
  /** Number of traces that match so far. */
  matched = 0;
  setSize = 0;
  isComplete = false;
  next: TracePosition | undefined;
  readonly #request: TraceListRequest;
  readonly #check: (no: number) => boolean;
  readonly #deadline: number;
  #skip: number;
  #last: Found | undefined;

  constructor(request: TraceListRequest, check: (no: number) => boolean, budgetMs: number) {
    this.#deadline = performance.now() + budgetMs;
    this.#request = request;
    this.#check = check;
    this.#skip = request.after === undefined ? request.offset : 0;
    this.beganAtStart = request.after === undefined;
  }

  /** Returns true when the search is finished. */
  take(one: Found): boolean {
    if (this.#isBefore(one)) return false;
    const isFull = this.found.length >= this.#request.limit;
    if (!isFull && !this.#hasTime()) return this.#stop();
    if (!this.#check(one.no)) return this.pass(one);
    if (isFull) return this.#stop();
    this.matched += 1;
    if (this.#skip > 0) this.#skip -= 1;
    else this.found.push(one);
    this.#last = one;
    return false;
  }

  /** Skips a trace that does not match. Returns true when the search is finished. */
  pass(one: Found): boolean {
    if (!this.#hasTime()) return this.#stop();
    this.#last = one;
    return false;
  }

  #isBefore({ value, no }: Found): boolean {
    const { after, descending } = this.#request;
    if (after === undefined) return false;
    if (value !== after.value) return descending ? value > after.value : value < after.value;
    return descending ? no >= Number(after.tie) : no <= Number(after.tie);
  }

  /**
   * Returns true while there is search time. Each request searches at least one trace, so that a search always makes
   * progress.
   */
  #hasTime(): boolean {
    return this.#last === undefined || performance.now() < this.#deadline;
  }

  #stop(): true {
    const last = this.#last;
    this.next = last === undefined ? this.#request.after : { value: last.value, tie: last.no };
    return true;
  }
}

/** A word that is in no span. */
const NO_WORD = '"_"';
const NOT_INTERNAL = "internal = 0";

/**
 * Returns the SQL conditions for the filters that need only the facts of a trace. Filters by trace id are not included.
 */
export function factsWhere(filters: TraceFilters): Where {
  const where: Where = { sql: [], parameters: [] };
  if (!filters.include_internal) add(where, NOT_INTERNAL);
  if (filters.status !== undefined) add(where, "status = ?", filters.status.toLowerCase());
  if (filters.with_errors) add(where, "error_count > 0");
  if (filters.name !== undefined && !filters.search_all_spans)
    add(where, "instr(root_lower, ?) > 0", filters.name.toLowerCase());
  if (filters.service_name !== undefined)
    add(where, "instr(lower(services), ?) > 0", JSON.stringify(filters.service_name?.toLowerCase()).slice(1, -1));
  if (filters.trigger_type !== undefined) add(where, "trigger_type = ?", filters.trigger_type);
  if (filters.min_duration_ms !== undefined || filters.max_duration_ms !== undefined) add(where, "duration_us >= 0");
  if (filters.min_duration_ms !== undefined) add(where, "duration_us >= ?", filters.min_duration_ms * 1_000);
  if (filters.max_duration_ms !== undefined) add(where, "duration_us <= ?", filters.max_duration_ms * 1_000);
  if (filters.end_time !== undefined) add(where, "start_us <= ?", filters.end_time * 1_000);
  if (filters.start_time !== undefined) add(where, "(pending_count > 0 OR end_us >= ?)", filters.start_time * 1_000);
  return where;
}

function add(where: Where, sql: string, ...parameters: readonly SqlValue[]): void {
  where.sql.push(sql);
  where.parameters.push(...parameters);
}

/**
 * Tests a trace by the JSON of its spans. First searches substrings, which is fast. Then parses only the spans that can
 * match.
 */
function matchesJson(conditions: readonly SpanCondition[], texts: readonly string[]): boolean {
  const lower: string[] = [];
  const spans: SpanRecord[] = [];
  const matchesAt = ({ needle, matches }: SpanCondition, index: number, text: string): boolean => {
    if (needle !== undefined) {
      lower[index] ??= text.toLowerCase();
      if (!lower[index].includes(needle)) return false;
    }
    spans[index] ??= readSpan(text);
    return matches(spans[index]);
  };
  return conditions.every(
    (condition) => texts.some((text, index) => matchesAt(condition, index, text)) !== condition.negated,
  );
}
