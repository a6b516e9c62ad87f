import { millisOf } from "../telemetry-records.ts";
import { areLabelFacets, filtersOnlyLabels, type LabelSet, type LabelSets } from "./label-sets.ts";
import { type LogFilter, logMatcher, logSelector, nanosOfEnd, nanosOfStart } from "./log-filter.ts";
import { invalidInput } from "./log-filter-input.ts";
import type { LogPosition, LogSource, PageRequest, PageSlice, TallyRequest, TallySlice } from "./log-store.ts";
import { comparePositions, positionOf, Tally } from "./log-tally.ts";
import type { StoredLog } from "./stored-log.ts";

/** A query may count this number of entries by their labels in the time that reading one entry takes. */
const COUNTED_PER_READ = 100;

/** An entry in memory. */
export interface Held extends LogPosition {
  /** Undefined after eviction, so that lists that still refer to this object do not keep the entry in memory. */
  entry: StoredLog | undefined;
  readonly size: number;
  /** Time of arrival, in milliseconds on the monotonic clock. */
  readonly arrivedMs: number;
  /** Set when the entry is first counted. Stays undefined if there are too many label sets. */
  labels: LabelSet | undefined;
}

/**
 * The entries in time order. Queries leave out entries that were evicted since, except for counts by labels, which do
 * not read the entries.
 */
export class OrderedLogs implements LogSource {
  readonly #labelSets: LabelSets;
  #held: Held[] = [];
  /** Labels of each entry that was counted. Counts read only `#labels` and `#timesMs`, which is fast. */
  #labels: (LabelSet | undefined)[] = [];
  #timesMs: number[] = [];

  constructor(labelSets: LabelSets) {
    this.#labelSets = labelSets;
  }

  /**
   * Returns a new list with the entries that are not evicted, and with those that arrived since. `evicted` is the
   * number of evicted entries in both; it may be too high.
   */
  with(arrived: readonly Held[], evicted: number): OrderedLogs {
    const next = new OrderedLogs(this.#labelSets);
    const added = arrived.filter(isKept).sort(comparePositions);
    const end = added[0] === undefined ? this.#held.length : this.#firstBehind(added[0]);
    // Most evicted entries are among the first ones, and few entries arrive late. So the entries between these are
    // copied at once.
    const first: number[] = [];
    let at = 0;
    for (let left = evicted - (arrived.length - added.length); at < end && left > 0; at++)
      if (isKept(this.#held[at] as Held)) first.push(at);
      else left -= 1;
    next.#held = this.#held.slice(at - first.length, end);
    next.#labels = this.#labels.slice(at - first.length, end);
    next.#timesMs = this.#timesMs.slice(at - first.length, end);
    for (const [to, from] of first.entries()) {
      next.#held[to] = this.#held[from] as Held;
      next.#labels[to] = this.#labels[from];
      next.#timesMs[to] = this.#timesMs[from] as number;
    }
    at = end;
    const copyUntil = (end: number): void => {
      for (; at < end; at++) next.#push(this.#held[at] as Held, this.#labels[at], this.#timesMs[at] as number);
    };
    for (const held of added) {
      copyUntil(this.#firstBehind(held, at));
      next.#push(held, undefined, Number.NaN);
    }
    copyUntil(this.#held.length);
    return next;
  }

  #push(held: Held, labels: LabelSet | undefined, timeMs: number): void {
    if (held.entry === undefined) return;
    this.#held.push(held);
    this.#labels.push(labels);
    this.#timesMs.push(timeMs);
  }

  page({ filter, order, after, limit, rows }: PageRequest): PageSlice {
    const select = logSelector(filter, invalidInput);
    if (order === "asc") {
      const start = after === undefined ? 0 : this.#firstBehind(after);
      const seen = this.#held.slice(start, start + rows);
      return pageOf(select(entriesOf(seen)), { limit, seen, isLast: start + rows >= this.#held.length });
    }
    const end = after === undefined ? this.#held.length : this.#search((held) => comparePositions(held, after) >= 0);
    const seen = this.#held.slice(Math.max(0, end - rows), end).reverse();
    return pageOf(select(entriesOf(seen)), { limit, seen, isLast: end - rows <= 0 });
  }

  tally(request: TallyRequest): TallySlice {
    const start = request.after === undefined ? 0 : this.#firstBehind(request.after);
    const filter = { ...request.filter, startMs: undefined, endMs: undefined };
    if (areLabelFacets(request.facets) && filtersOnlyLabels(filter)) return this.#tallyLabels(request, filter, start);
    const seen = this.#held.slice(start, start + request.rows);
    const tally = new Tally(request);
    for (const entry of logSelector(request.filter, invalidInput)(entriesOf(seen))) tally.add(entry);
    return tally.slice(start + request.rows >= this.#held.length ? undefined : nextAfter(seen));
  }

  /** Filters and masks each label set once for all its entries. An entry itself is read only at its first count. */
  #tallyLabels(request: TallyRequest, filter: LogFilter, from: number): TallySlice {
    const [first, end] = this.#within(request.filter);
    const matches = logMatcher(filter);
    const tally = new Tally(request);
    const counted: LabelSet[] = [];
    let left = request.rows * COUNTED_PER_READ;
    let at = Math.max(from, first);
    for (; at < end && left > 0; at++) {
      let labels = this.#labels[at];
      left -= labels === undefined ? COUNTED_PER_READ : 1;
      labels ??= this.#readLabels(at);
      if (labels === undefined) {
        const { entry } = this.#held[at] as Held;
        if (entry !== undefined && matches(entry.log)) tally.add(entry);
        continue;
      }
      let { count } = labels;
      if (count?.tally !== tally) {
        count = { tally, matches: matches(labels.log), more: 0 };
        labels.count = count;
        counted.push(labels);
        // Counted here and not with the others, so that values appear in the order of their first entries.
        if (count.matches) tally.addFacets(labels, 1);
      } else count.more += 1;
      if (count.matches) tally.addTime(this.#timesMs[at] as number, labels.log.severityText);
    }
    for (const labels of counted) {
      if (labels.count?.matches) tally.addFacets(labels, labels.count.more);
      labels.count = undefined;
    }
    return tally.slice(at < end ? nextAfter(this.#held.slice(at - 1, at)) : undefined);
  }

  /**
   * Returns the labels of an entry. Returns undefined in two cases: there are too many label sets, or the entry was
   * evicted (then no eviction would release the label set later).
   */
  #readLabels(at: number): LabelSet | undefined {
    const held = this.#held[at] as Held;
    if (held.entry === undefined) return undefined;
    held.labels ??= this.#labelSets.share(held.entry.log);
    this.#labels[at] = held.labels;
    this.#timesMs[at] = millisOf(held.timeUnixNano);
    return held.labels;
  }

  /** Returns two indexes: of the first entry in the filter's time range, and of the first entry after the range. */
  #within({ startMs, endMs }: LogFilter): readonly [number, number] {
    const start = startMs === undefined ? undefined : nanosOfStart(startMs);
    const end = endMs === undefined ? undefined : nanosOfEnd(endMs);
    return [
      start === undefined ? 0 : this.#search(({ timeUnixNano }) => timeUnixNano >= start),
      end === undefined ? this.#held.length : this.#search(({ timeUnixNano }) => timeUnixNano > end),
    ];
  }

  #firstBehind(position: LogPosition, from = 0): number {
    return this.#search((held) => comparePositions(held, position) > 0, from);
  }

  /**
   * Returns the index of the first entry, at `from` or later, for which `isThere` is true. It must be true for all
   * later entries too, because the search is binary.
   */
  #search(isThere: (held: Held) => boolean, from = 0): number {
    let low = from;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isThere(this.#held[middle] as Held)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function isKept({ entry }: Held): boolean {
  return entry !== undefined;
}

function entriesOf(all: readonly Held[]): StoredLog[] {
  return all.flatMap(({ entry }) => entry ?? []);
}

/** Returns a page of the matching entries. `seen` are the entries that were searched. */
function pageOf(
  matching: readonly StoredLog[],
  slice: { readonly limit: number; readonly seen: readonly Held[]; readonly isLast: boolean },
): PageSlice {
  if (matching.length > slice.limit) {
    const entries = matching.slice(0, slice.limit);
    return { entries, next: positionOf(entries[entries.length - 1] as StoredLog) };
  }
  return { entries: matching, next: slice.isLast ? undefined : nextAfter(slice.seen) };
}

function nextAfter(seen: readonly Held[]): LogPosition | undefined {
  const last = seen.at(-1);
  return last === undefined ? undefined : { timeUnixNano: last.timeUnixNano, id: last.id };
}
