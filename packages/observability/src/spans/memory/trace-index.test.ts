import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SpanRecord } from "../../telemetry-records.ts";
import { mayReplace } from "../span-store.ts";
import { sampleSpan } from "../testing/sample-spans.ts";
import { addToFacts, newFacts, type TraceFacts } from "../trace-facts.ts";
import { PendingSpans } from "./pending-spans.ts";
import { SpanRing } from "./span-ring.ts";
import { TraceIndex } from "./trace-index.ts";

interface Arrival {
  readonly trace: number;
  readonly id: number;
  readonly startMs: number;
  readonly status: "ok" | "error";
  readonly tookMs: number | null;
  readonly parent: number | undefined;
  readonly service: string;
  readonly functionId: string | undefined;
  /** The id of a restricted sender. */
  readonly sender: string | undefined;
}

type Step =
  | { readonly does: "arrive" | "begin"; readonly span: Arrival }
  | { readonly does: "end"; readonly which: number }
  | { readonly does: "evict"; readonly isMoved: boolean }
  | { readonly does: "evict from the reserve" | "clear" | "query" };

const arrivals = fc.record<Arrival>({
  trace: fc.integer({ min: 1, max: 4 }),
  id: fc.integer({ min: 1, max: 12 }),
  startMs: fc.integer({ min: 0, max: 5 }),
  status: fc.constantFrom("ok", "ok", "error"),
  tookMs: fc.constantFrom(1, 7, null),
  parent: fc.constantFrom(undefined, 1, 2, 20),
  service: fc.constantFrom("a", "b", "c"),
  functionId: fc.constantFrom(undefined, "f::x", "f::y"),
  sender: fc.constantFrom(undefined, undefined, undefined, "guest", "other"),
});
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constant("arrive" as const), span: arrivals }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("begin" as const), span: arrivals }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("end" as const), which: fc.nat(20) }) },
  { weight: 7, arbitrary: fc.record({ does: fc.constant("evict" as const), isMoved: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom("evict from the reserve" as const, "query" as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("clear" as const, "query" as const) }) },
);

type Reused = { -readonly [Member in keyof SpanRecord]: SpanRecord[Member] };

/** The rings as the store uses them. Evicted records are reused for other spans, like those of calls. */
class Spans {
  readonly ring = new SpanRing();
  readonly reserve = new SpanRing();
  readonly pending = new PendingSpans();
  readonly #unused: Reused[] = [];
  readonly #begun: SpanRecord[] = [];

  take(step: Step): void {
    if (step.does === "arrive") this.ring.push(this.#recordOf(step.span), 1);
    else if (step.does === "begin") {
      const span = this.#recordOf({ ...step.span, tookMs: null, sender: undefined });
      this.pending.add(span);
      this.#begun.push(span);
    } else if (step.does === "end") {
      const [span] = this.#begun.splice(step.which % Math.max(1, this.#begun.length), 1);
      if (span === undefined) return;
      this.pending.remove(span);
      (span as Reused).endUnixNano = span.startUnixNano + 1n;
      this.ring.push(span, 1);
    } else if (step.does === "evict") {
      const { first } = this.ring;
      const span = this.ring.shift();
      if (span !== undefined && step.isMoved) this.reserve.push(span, 1, first);
      else if (span !== undefined) this.#unused.push(span);
    } else if (step.does === "evict from the reserve") {
      const span = this.reserve.shift();
      if (span !== undefined) this.#unused.push(span);
    } else if (step.does === "clear") {
      this.ring.clear();
      this.reserve.clear();
    }
  }

  /** All stored spans; pending ones come first, so that the end of a span replaces them. */
  all(): SpanRecord[] {
    return [...this.pending, ...spansIn(this.reserve), ...spansIn(this.ring)];
  }

  #recordOf({ functionId, sender, service, ...of }: Arrival): SpanRecord {
    return Object.assign(this.#unused.pop() ?? {}, {
      ...sampleSpan({
        ...(({ parent, ...others }) => (parent === undefined ? others : { ...others, parent }))(of),
        name: `${service} ${of.id}`,
        attributes: functionId === undefined ? {} : { "svc.function_id": functionId },
      }),
      resource: { service, workerId: undefined, attributes: {}, restrictedTo: sender },
    });
  }
}

function spansIn(ring: SpanRing): SpanRecord[] {
  return Array.from({ length: ring.count }, (_, at) => ring.at(ring.first + at));
}

/** Computes the traces from all spans. */
function fullScan(all: readonly SpanRecord[]): Map<string, { facts: TraceFacts; spans: Map<string, SpanRecord> }> {
  const isRestricted = ({ resource }: SpanRecord): boolean => resource.restrictedTo !== undefined;
  const traces = new Map<string, { facts: TraceFacts; spans: Map<string, SpanRecord> }>();
  for (const span of [...all.filter((span) => !isRestricted(span)), ...all.filter(isRestricted)]) {
    const trace = traces.get(span.traceId) ?? { facts: newFacts(span), spans: new Map<string, SpanRecord>() };
    traces.set(span.traceId, trace);
    const before = trace.spans.get(span.spanId);
    if (before !== undefined && !mayReplace(span, before)) continue;
    addToFacts(trace.facts, span, before);
    trace.spans.set(span.spanId, span);
  }
  return traces;
}

async function expectFullScan(index: TraceIndex, spans: Spans, ids?: readonly string[]): Promise<void> {
  const indexed = await index.traces(ids);
  const scanned = [...fullScan(spans.all())].filter(([id]) => ids?.includes(id) ?? true);
  const byId = <Row extends { readonly facts: TraceFacts }>(rows: readonly Row[]): Row[] =>
    rows.toSorted((a, b) => (a.facts.traceId < b.facts.traceId ? -1 : 1));
  expect(byId(indexed).map(({ facts }) => facts)).toEqual(
    byId(scanned.map(([, trace]) => trace)).map(({ facts }) => facts),
  );
  for (const trace of indexed)
    expect(new Set(trace.spans())).toEqual(
      new Set(scanned.find(([id]) => id === trace.facts.traceId)?.[1].spans.values()),
    );
}

describe("the index of traces in memory", () => {
  it("has the facts of a full scan after any arrivals, replacements and evictions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 120 }), async (all) => {
        const spans = new Spans();
        const index = new TraceIndex(spans);
        for (const step of all) {
          if (step.does === "query") await expectFullScan(index, spans);
          else spans.take(step);
        }
        await expectFullScan(index, spans);
      }),
      { numRuns: 300 },
    );
  });

  it("finds some traces by their ids, pending ones too", async () => {
    const spans = new Spans();
    const index = new TraceIndex(spans);
    const span = { startMs: 0, status: "ok", tookMs: 1, parent: undefined, service: "a" } as const;
    const more = { functionId: undefined, sender: undefined } as const;
    for (const [trace, id] of [
      [1, 1],
      [2, 2],
      [3, 3],
    ] as const)
      spans.take({ does: "arrive", span: { trace, id, ...span, ...more } });
    spans.take({ does: "begin", span: { trace: 3, id: 4, ...span, ...more } });
    spans.take({ does: "begin", span: { trace: 4, id: 5, ...span, ...more } });
    await expectFullScan(
      index,
      spans,
      [2, 3, 4, 9].map((trace) => sampleSpan({ trace, id: 1 }).traceId),
    );
  });

  it("catches up in turns that let other work run", async () => {
    const spans = new Spans();
    const index = new TraceIndex(spans);
    for (let id = 1; id <= 20_000; id += 1) spans.ring.push(sampleSpan({ trace: id, id }), 1);
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    expect(await index.traces()).toHaveLength(20_000);
    isDone = true;
    expect(turns).toBeGreaterThan(3);
  });
});
