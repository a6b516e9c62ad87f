import { Deque } from "../../calls/deque.ts";
import type { SpanRecord } from "../../telemetry-records.ts";
import { mayReplace } from "../span-store.ts";
import type { FacetValues, SharedFacetValues } from "../trace-facets.ts";
import { addToFacts, newFacts, type TraceFacts } from "../trace-facts.ts";
import type { PendingSpans } from "./pending-spans.ts";
import type { SpanRing } from "./span-ring.ts";
import { TimeSlice } from "./time-slice.ts";

/** Number of spans up to which a span id is searched in the list. A trace with more spans has a map. */
const MAX_COMPARED = 8;

/** A trace, in the form that queries use. */
export interface Trace {
  readonly facts: TraceFacts;
  /** Bits of the conditions whose result is known for this trace. */
  known: number;
  /** Bits of the conditions that this trace meets. */
  met: number;
  /** Returns its spans, without repeated ids. */
  spans(): readonly SpanRecord[];
  facets(shared: SharedFacetValues): FacetValues;
}

/**
 * Index of the traces in the ring buffers, with their facts. It is not updated when a span arrives or is evicted.
 * Instead, each query first adds the spans that arrived and removes the spans that were evicted since the last query.
 * So calls cost nothing, and a query costs only as much as there are changes. The index takes about 0.8 KB per trace
 * and 0.1 KB per span.
 */
export class TraceIndex {
  readonly #ring: SpanRing;
  readonly #reserve: SpanRing;
  readonly #pending: PendingSpans;
  readonly #traces = new Map<string, IndexedTrace>();
  /** The indexed spans of each ring, in the order of the ring. */
  readonly #inRing = new Deque<IndexedSpan>();
  readonly #inReserve = new Deque<IndexedSpan>();
  /** Sequence number of the first indexed span in each ring. */
  #ringFirst: number;
  #reserveFirst: number;
  /** Traces that lost a span, so that their facts must be computed again from the remaining spans. */
  readonly #outdated = new Set<IndexedTrace>();

  constructor(parts: { readonly ring: SpanRing; readonly reserve: SpanRing; readonly pending: PendingSpans }) {
    this.#ring = parts.ring;
    this.#reserve = parts.reserve;
    this.#pending = parts.pending;
    this.#ringFirst = parts.ring.first;
    this.#reserveFirst = parts.reserve.first;
  }

  /**
   * Returns the traces with these ids, or all traces. They are valid until the caller awaits something, because then
   * their spans may be evicted.
   */
  async traces(ids?: readonly string[]): Promise<readonly Trace[]> {
    const slice = new TimeSlice();
    while (!this.#catchUp(slice)) await slice.next();
    const wanted = ids === undefined ? undefined : new Set(ids);
    const pending = this.#pendingTraces(wanted);
    const traces: Trace[] = [];
    if (wanted === undefined) for (const [id, trace] of this.#traces) if (!pending.has(id)) traces.push(trace);
    for (const id of wanted ?? []) {
      const trace = pending.has(id) ? undefined : this.#traces.get(id);
      if (trace !== undefined) traces.push(trace);
    }
    traces.push(...pending.values());
    return traces;
  }

  /** Forgets for all traces whether they meet a condition. */
  forget(bit: number): void {
    for (const trace of this.#traces.values()) trace.known &= ~bit;
  }

  /** Updates the index. Returns false if the turn is over before the index is up to date. */
  #catchUp(slice: TimeSlice): boolean {
    // Evicted spans are removed first, because their records may be reused for other calls.
    this.#removeEvicted();
    for (let at = this.#ringFirst + this.#inRing.length; at < this.#ring.end; at += 1) {
      this.#inRing.push(this.#add(this.#ring.at(at)));
      if (slice.isOver()) return false;
    }
    for (const trace of this.#outdated) {
      this.#outdated.delete(trace);
      if (trace.isEmpty) this.#traces.delete(trace.facts.traceId);
      else trace.refold();
      if (slice.isOver()) return false;
    }
    return true;
  }

  /**
   * Removes the evicted spans. The order matters, because a span may move from the ring to the reserve: first the
   * reserve's evicted spans, then the moves, then the ring's evicted spans.
   */
  #removeEvicted(): void {
    while (this.#reserveFirst < this.#reserve.first) {
      this.#remove(this.#inReserve.shift());
      this.#reserveFirst += 1;
    }
    for (let at = this.#reserveFirst + this.#inReserve.length; at < this.#reserve.end; at += 1) {
      const origin = this.#reserve.originAt(at);
      this.#removeFromRing(origin);
      const moved = this.#inRing.shift() ?? this.#add(this.#reserve.at(at));
      this.#ringFirst = origin + 1;
      this.#inReserve.push(moved);
    }
    this.#removeFromRing(this.#ring.first);
  }

  #removeFromRing(end: number): void {
    while (this.#ringFirst < end && this.#inRing.length > 0) {
      this.#remove(this.#inRing.shift());
      this.#ringFirst += 1;
    }
    this.#ringFirst = Math.max(this.#ringFirst, end);
  }

  #add(span: SpanRecord): IndexedSpan {
    const { traceId } = span;
    let trace = this.#traces.get(traceId);
    if (trace === undefined) {
      trace = new IndexedTrace(newFacts(span));
      this.#traces.set(traceId, trace);
    }
    if (!trace.add(span)) this.#outdated.add(trace);
    return { span, trace };
  }

  #remove(indexed: IndexedSpan | undefined): void {
    if (indexed === undefined) return;
    indexed.trace.remove(indexed.span);
    this.#outdated.add(indexed.trace);
  }

  /** Returns the traces with pending spans. They are computed for each query, because pending spans change. */
  #pendingTraces(wanted: ReadonlySet<string> | undefined): Map<string, Trace> {
    const pending = new Map<string, SpanRecord[]>();
    for (const span of this.#pending) {
      const { traceId } = span;
      if (wanted !== undefined && !wanted.has(traceId)) continue;
      const spans = pending.get(traceId);
      if (spans === undefined) pending.set(traceId, [span]);
      else spans.push(span);
    }
    const traces = new Map<string, Trace>();
    for (const [id, spans] of pending) {
      // Pending spans come first, so that a span that has ended replaces its pending state.
      const trace = new IndexedTrace(newFacts(spans[0] as SpanRecord), [
        ...spans,
        ...(this.#traces.get(id)?.all ?? []),
      ]);
      trace.refold();
      traces.set(id, trace);
    }
    return traces;
  }
}

interface IndexedSpan {
  readonly span: SpanRecord;
  readonly trace: IndexedTrace;
}

class IndexedTrace implements Trace {
  facts: TraceFacts;
  known = 0;
  met = 0;
  /** All spans in order of arrival. An id may occur several times, because a later span replaces an earlier one. */
  all: SpanRecord[];
  #facets: FacetValues | undefined;
  #isOutdated = false;
  #hasRestricted = false;
  /** The latest span of each id; undefined while there are few spans. */
  #byId: Map<string, SpanRecord> | undefined;

  constructor(facts: TraceFacts, all: SpanRecord[] = []) {
    this.facts = facts;
    this.all = all;
  }

  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  spans(): readonly SpanRecord[] {
    if (this.facts.spanCount === this.all.length) return this.all;
    return [...latestById(this.all).values()];
  }

  facets(shared: SharedFacetValues): FacetValues {
    this.#facets ??= shared.of(this.facts);
    return this.#facets;
  }

  /** Adds a span. Returns false if the facts must be computed again from all spans. */
  add(span: SpanRecord): boolean {
    if (this.#isOutdated || this.#hasRestricted || isRestricted(span)) {
      this.#isOutdated = true;
      this.all.push(span);
      return false;
    }
    this.known = 0;
    this.#facets = undefined;
    addToFacts(this.facts, span, this.#earlierState(span));
    // Creates a new array for the first span. An array that grows has room for 17 items, and most traces have only a
    // few spans.
    if (this.isEmpty) this.all = [span];
    else this.all.push(span);
    this.#byId?.set(span.spanId, span);
    return true;
  }

  remove(span: SpanRecord): void {
    const at = this.all.indexOf(span);
    if (at >= 0) this.all.splice(at, 1);
    this.#isOutdated = true;
  }

  /** Computes the facts again, from all spans. */
  refold(): void {
    let facts: TraceFacts | undefined;
    const byId = latestById(this.all, (span, before) => {
      facts ??= newFacts(span);
      addToFacts(facts, span, before);
    });
    if (facts === undefined) return;
    this.facts = facts;
    this.#byId = byId.size > MAX_COMPARED ? byId : undefined;
    this.#hasRestricted = this.all.some(isRestricted);
    this.#isOutdated = false;
    this.known = 0;
    this.#facets = undefined;
  }

  #earlierState(span: SpanRecord): SpanRecord | undefined {
    if (this.all.length === 0) return undefined;
    const { spanId } = span;
    if (this.all.length <= MAX_COMPARED) return this.all.findLast((each) => each.spanId === spanId);
    this.#byId ??= new Map(this.all.map((each) => [each.spanId, each]));
    return this.#byId.get(spanId);
  }
}

/**
 * Returns the latest span of each id. Spans of restricted senders are processed last, because those that may not
 * replace others must not change the facts of the trace.
 */
function latestById(
  all: readonly SpanRecord[],
  onSpan?: (span: SpanRecord, before: SpanRecord | undefined) => void,
): Map<string, SpanRecord> {
  const restricted = all.filter(isRestricted);
  const ordered = restricted.length === 0 ? all : [...all.filter((span) => !isRestricted(span)), ...restricted];
  const byId = new Map<string, SpanRecord>();
  for (const span of ordered) {
    const before = byId.get(span.spanId);
    if (before !== undefined && !mayReplace(span, before)) continue;
    onSpan?.(span, before);
    byId.set(span.spanId, span);
  }
  return byId;
}

function isRestricted({ resource }: SpanRecord): boolean {
  return resource.restrictedTo !== undefined;
}
