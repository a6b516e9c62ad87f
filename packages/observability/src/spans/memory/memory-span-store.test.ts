import { SecretMask } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { BASE, sampleSpan, traceIdOf } from "../testing/sample-spans.ts";
import { traceFacets, traceHistogram } from "../trace-aggregates.ts";
import { traceFiltersSchema } from "../trace-query.ts";
import { MemorySpanStore } from "./memory-span-store.ts";

const mask = new SecretMask([]);
const redactor = (): SecretMask => mask;

function newStore(limits: { maxSpans?: number; maxBytes?: number; keepSlowMs?: number }) {
  const dropped: string[] = [];
  const drops = { dropped: (_: string, reason: string) => void dropped.push(reason) };
  return {
    dropped,
    store: new MemorySpanStore({ maxSpans: 1_000, maxBytes: 1e9, keepSlowMs: 1_000, ...limits }, { drops, redactor }),
  };
}

describe("spans in memory", () => {
  it("are bounded by number: the oldest go", async () => {
    const { store } = newStore({ maxSpans: 1_000 });
    for (let id = 1; id <= 5_000; id += 1) store.ended(sampleSpan({ trace: id, id }));
    expect(await store.stats()).toMatchObject({ stored: 1_000, bytes: 500_000 });
    expect(await store.spansOf(traceIdOf(4_000))).toHaveLength(0);
    expect(await store.spansOf(traceIdOf(4_001))).toHaveLength(1);
  });

  it("are bounded by bytes, and one that is too large is not taken", async () => {
    const { store, dropped } = newStore({ maxBytes: 100_000 });
    for (let id = 1; id <= 900; id += 1) store.ended(sampleSpan({ trace: id, id, size: 1_000 }));
    store.ended(sampleSpan({ id: 1_000, size: 2 * 1024 * 1024 }));
    expect(await store.stats()).toMatchObject({ stored: 100, bytes: 100_000 });
    expect(dropped).toEqual(["span_too_large"]);
  });

  it("of traces with an error or a slow span outlive others, in a quarter of the room", async () => {
    const { store } = newStore({ maxSpans: 1_000 });
    for (let id = 1; id <= 100; id += 1)
      store.ended(sampleSpan({ trace: id, id, status: id % 2 === 0 ? "error" : "ok", tookMs: id === 51 ? 1_500 : 1 }));
    store.ended(sampleSpan({ trace: 2, id: 20_000, parent: 2 }));
    for (let id = 101; id <= 5_000; id += 1) store.ended(sampleSpan({ trace: id, id }));
    const kept = await Promise.all(
      [2, 51, 100, 1, 99].map(async (trace) => (await store.spansOf(traceIdOf(trace))).length),
    );
    expect(kept).toEqual([2, 1, 1, 0, 0]);
    for (let id = 6_000; id <= 12_000; id += 1) store.ended(sampleSpan({ trace: id, id, status: "error" }));
    expect(await store.stats()).toMatchObject({ stored: 1_000 });
    expect(await store.spansOf(traceIdOf(2))).toHaveLength(0);
    expect(await store.spansOf(traceIdOf(11_001))).toHaveLength(1);
  });

  it("are released when they go, but not while a search looks at them", async () => {
    const { store } = newStore({ maxSpans: 10 });
    const released: number[] = [];
    const come = (from: number, to: number): void => {
      for (let id = from; id < to; id += 1)
        store.ended({ ...sampleSpan({ trace: id, id }), retain: () => {}, release: () => void released.push(id) });
    };
    come(0, 12);
    expect(released).toEqual([0, 1]);
    const filters = traceFiltersSchema().parse({});
    const search = store.list({
      filters,
      sortBy: "start_time",
      descending: false,
      after: undefined,
      offset: 0,
      limit: 10,
      spans: "root",
    });
    come(12, 14);
    const { rows } = await search;
    expect(rows).toHaveLength(10);
    expect(released).toEqual([0, 1]);
    come(14, 15);
    expect(released).toEqual([0, 1, 4]);
  });

  it("are complete since the oldest that is not kept for an error, once one was evicted", () => {
    const { store } = newStore({ maxSpans: 100 });
    for (let id = 1; id <= 100; id += 1)
      store.ended(sampleSpan({ trace: id, id, startMs: id, status: id === 1 ? "error" : "ok" }));
    expect(store.stats().completeSinceMs).toBeUndefined();
    for (let id = 101; id <= 150; id += 1) store.ended(sampleSpan({ trace: id, id, startMs: id }));
    const { oldestMs, completeSinceMs } = store.stats();
    expect([oldestMs, completeSinceMs]).toEqual([1, 52].map((ms) => Number(BASE) / 1e6 + ms));
  });

  it("are read once: a repeated query reads only spans that have arrived since", async () => {
    const { store } = newStore({ maxSpans: 2_000 });
    let reads = 0;
    const arrive = (from: number, to: number): void => {
      for (let id = from; id < to; id += 1) {
        const span = sampleSpan({ trace: id, id });
        store.ended({
          ...span,
          get attributes() {
            reads += 1;
            return span.attributes;
          },
        });
      }
    };
    const ask = async (): Promise<void> => {
      const filters = traceFiltersSchema().parse({ exclude_attributes: [["customer", "c77"]] });
      for (const sortBy of ["start_time", "duration"] as const)
        await store.list({
          ...{ filters, sortBy, descending: true, after: undefined, offset: 0, limit: 5, spans: "none" },
        });
      await traceFacets(store, traceFiltersSchema().parse({}), ["status", "function_id"]);
      await traceHistogram(store, filters, 60);
    };
    arrive(0, 2_000);
    await ask();
    reads = 0;
    await ask();
    expect(reads).toBe(0);
    arrive(2_000, 2_010);
    await ask();
    // Once for the facts of the trace, and once or twice for the condition.
    expect(reads).toBeGreaterThanOrEqual(10);
    expect(reads).toBeLessThan(60);
  });

  it("counts exactly what is stored, whether or not it was asked before", async () => {
    const asked = newStore({ maxSpans: 200 });
    const silent = newStore({ maxSpans: 200 });
    const filters = traceFiltersSchema().parse({});
    const facets = ["status", "service", "function_id", "trigger_type", "name"];
    for (let id = 1; id <= 1_000; id += 1) {
      for (const { store } of [asked, silent])
        store.ended(
          sampleSpan({
            ...{ trace: Math.floor(id / 3), id, service: `s${id % 7}`, tookMs: id % 90, startMs: id },
            status: id % 40 === 0 ? "error" : "ok",
            attributes: { "svc.function_id": `f::${id % 5}` },
          }),
        );
      if (id % 30 === 0) await traceFacets(asked.store, filters, facets);
    }
    expect(await traceFacets(asked.store, filters, facets)).toEqual(await traceFacets(silent.store, filters, facets));
    expect(await traceHistogram(asked.store, filters, 20)).toEqual(await traceHistogram(silent.store, filters, 20));
  });

  it("that never end are bounded as well, and are stored when they do end", async () => {
    const { store } = newStore({});
    const spans = Array.from({ length: 12_000 }, (_, id) => sampleSpan({ trace: 1, id, tookMs: null }));
    for (const span of spans) store.started(span);
    expect(await store.spansOf(traceIdOf(1))).toHaveLength(10_000);
    for (const span of spans.slice(11_000)) store.ended({ ...span, endUnixNano: span.startUnixNano });
    expect(await store.spansOf(traceIdOf(1))).toHaveLength(11_000);
  });
});
