import { accessTo, bindTrigger, type InMemoryEngine, type InMemoryWorker } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { seesCall } from "../query/sees-call.ts";
import { type SampleSpan, sampleSpan, spanIdOf, traceIdOf } from "./testing/sample-spans.ts";
import { type SpansEngine, spansEngine } from "./testing/spans-engine.ts";
import { visibleSpans } from "./visible-spans.ts";

const running: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of running.splice(0)) await engine.stop();
});

const of = (functionId: string, more = {}) => ({ attributes: { "svc.function_id": functionId, ...more } });

/** Trace 1: a request that calls a::open, which calls secret::pay; trace 2: only secret::pay; trace 3: only a::open. */
async function site(): Promise<
  SpansEngine & { readonly reader: InMemoryWorker; ask(id: string, payload?: object): Promise<Record<string, unknown>> }
> {
  const started = await spansEngine({});
  running.push(started.engine);
  const { sink, engine } = started;
  sink.ended(
    sampleSpan({ trace: 1, id: 1, name: "POST /pay", attributes: { "http.request.method": "POST", user: "ada" } }),
  );
  sink.ended(sampleSpan({ trace: 1, id: 2, parent: 1, startMs: 1, name: "a::open", ...of("a::open") }));
  sink.ended(sampleSpan({ trace: 1, id: 3, parent: 2, startMs: 2, name: "load", attributes: { cache: "hit" } }));
  sink.ended(
    sampleSpan({
      trace: 1,
      id: 4,
      parent: 2,
      startMs: 3,
      name: "secret::pay",
      service: "bank",
      status: "error",
      ...of("secret::pay", { card: "private-card" }),
    }),
  );
  sink.ended(
    sampleSpan({
      trace: 1,
      id: 5,
      parent: 4,
      startMs: 4,
      name: "charge",
      service: "bank",
      attributes: { card: "private-card" },
    }),
  );
  sink.ended(
    sampleSpan({
      trace: 2,
      id: 6,
      startMs: 10,
      name: "secret::pay",
      service: "bank",
      ...of("secret::pay", { card: "private-card" }),
    }),
  );
  sink.ended(sampleSpan({ trace: 3, id: 7, startMs: 20, name: "a::open", ...of("a::open") }));
  const reader = await engine.connectWorker({ access: accessTo(['match("engine::traces::*")', 'match("a::*")']) });
  return {
    ...started,
    reader,
    ask: async (id, payload = {}) => (await reader.call(id, payload)).result as Record<string, unknown>,
  };
}

describe("a restricted caller of engine::traces::*", () => {
  it("reads only spans of functions that it may call", async () => {
    const { ask } = await site();
    const list = await ask("engine::traces::list");
    expect(list).toMatchObject({
      total: 2,
      spans: [
        { span_id: spanIdOf(7) },
        { span_id: spanIdOf(2), trace: { span_count: 2, error_count: 0, services: ["svc"], root_name: "a::open" } },
      ],
    });
    const spans = (await ask("engine::traces::spans", { trace_id: traceIdOf(1) })) as {
      spans: { span_id: string }[];
      total: number;
    };
    expect([spans.total, spans.spans.map(({ span_id }) => span_id)]).toEqual([2, [spanIdOf(2), spanIdOf(3)]]);
    expect(await ask("engine::traces::tree", { trace_id: traceIdOf(1) })).toMatchObject({
      span_count: 2,
      services: [{ name: "svc" }],
    });
    expect(await ask("engine::traces::get_span", { trace_id: traceIdOf(1), span_id: spanIdOf(4) })).toBeNull();
    expect(await ask("engine::traces::get_span", { trace_id: traceIdOf(1), span_id: spanIdOf(3) })).toMatchObject({
      name: "load",
    });
    expect(JSON.stringify([list, spans])).not.toMatch(/private-card|secret|bank|ada/);
  });

  it("learns nothing of the others by filters, counts or groups", async () => {
    const { ask } = await site();
    for (const filter of [
      { text: "private-card" },
      { function_id: "secret::pay" },
      { worker: "bank" },
      { status: "error" },
      { query: "(error or status:error) function:a::*" },
      { query: "function:secret::* or service:bank or attr.card:*" },
      { name: "charge", search_all_spans: true },
    ]) {
      expect([filter, await ask("engine::traces::list", filter)]).toEqual([
        filter,
        expect.objectContaining({ spans: [], total: 0 }),
      ]);
    }
    const facets = JSON.stringify(
      await ask("engine::traces::facets", { facets: ["service", "function_id", "status", "card"] }),
    );
    expect(facets).not.toMatch(/private-card|secret|bank|error/);
    expect(await ask("engine::traces::group_by", { attribute: "card" })).toEqual({ groups: [] });
    expect(await ask("engine::traces::list", { offset: 1, limit: 1 })).toMatchObject({
      spans: [{ span_id: spanIdOf(2) }],
    });
  });

  it("pages through its traces with cursors that show nothing of the others and cannot be made up", async () => {
    const { ask, engine, reader, sink } = await site();
    // More than one request searches.
    for (let trace = 100; trace < 160; trace += 1)
      sink.ended(sampleSpan({ trace, id: trace, name: "private-name", ...of("secret::pay") }));
    const query = { sort_by: "name", limit: 1 };
    const seen: string[] = [];
    const cursors: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = (await ask("engine::traces::list", { ...query, cursor })) as {
        spans: { span_id: string }[];
        cursor: string | null;
      };
      seen.push(...page.spans.map(({ span_id }) => span_id));
      cursor = page.cursor;
      if (cursor !== null) cursors.push(cursor);
    }
    expect(seen.toSorted()).toEqual([spanIdOf(2), spanIdOf(7)]);
    expect(cursors.length).toBeGreaterThan(1);
    for (const cursor of cursors)
      expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/private|secret|open/);
    expect(new Set(cursors.map(({ length }) => length)).size).toBe(1);
    const { cursor: plain } = (await engine.call("engine::traces::list", query)) as { readonly cursor: string };
    for (const cursor of [plain, "AAAA", `${cursors[0]}AAAA`])
      expect(await reader.call("engine::traces::list", { ...query, cursor })).toMatchObject({
        error: { code: "invalid_input" },
      });
  });

  it("leaves the others to callers that are not restricted", async () => {
    const { engine } = await site();
    expect(await engine.call("engine::traces::list", {})).toMatchObject({ total: 3 });
    expect(await engine.call("engine::traces::spans", { trace_id: traceIdOf(1) })).toMatchObject({ total: 5 });
  });

  it("receives from a trace trigger only traces that it sees something of", async () => {
    const { reader, sink } = await site();
    const told: unknown[] = [];
    reader.serve("a::watch", (data) => void told.push(data));
    await bindTrigger(reader, "trace", "a::watch", {});
    sink.ended(sampleSpan({ trace: 8, id: 8, name: "secret::pay", ...of("secret::pay") }));
    sink.ended(sampleSpan({ trace: 9, id: 9, name: "a::open", ...of("a::open") }));
    await expect.poll(() => told).toEqual([{ trace_ids: [traceIdOf(9)] }]);
  });
});

it("visibleSpans hides spans that belong to no function while it has not all spans of the trace", () => {
  const spans = [sampleSpan({ trace: 1, id: 1 }), sampleSpan({ trace: 1, id: 2, parent: 1, ...of("a::open") })];
  expect(visibleSpans(spans, () => true, true)).toHaveLength(2);
  expect(visibleSpans(spans, () => true, false).map(({ spanId }) => spanId)).toEqual([spanIdOf(2)]);
});

it("visibleSpans shows a request whose trace has a call of a hidden function that every client may call, and not that call", () => {
  const spans = [
    sampleSpan({ trace: 1, id: 1, kind: "server" }),
    sampleSpan({ trace: 1, id: 2, parent: 1, ...of("engine::log::info", { "svc.caller.worker_id": "bank" }) }),
    sampleSpan({ trace: 1, id: 3, parent: 2 }),
  ];
  const idsFor = (own: string) =>
    visibleSpans(spans, seesCall({ callRefusal: () => undefined, isOwnConnection: (id) => id === own })).map(
      ({ spanId }) => spanId,
    );
  expect(idsFor("reader")).toEqual([spanIdOf(1)]);
  expect(idsFor("bank")).toEqual([1, 2, 3].map(spanIdOf));
});

it("visibleSpans hides spans that name no function while their parent is not stored, other than requests to the engine", () => {
  const seen = (more: object): number =>
    visibleSpans([sampleSpan({ trace: 1, id: 2, parent: 1, ...more })], () => true).length;
  expect(seen({})).toBe(0);
  expect(seen({ kind: "server", outside: true })).toBe(0);
  expect(seen({ kind: "server" })).toBe(1);
  expect(seen(of("a::open"))).toBe(1);
});

it("visibleSpans takes the word of a restricted sender only for spans that it sent itself", () => {
  const from = (restrictedTo: string | undefined) => ({
    resource: { service: "x", workerId: undefined, attributes: {}, restrictedTo },
  });
  const seen = (...senders: (string | undefined)[]): number =>
    visibleSpans(
      senders.map((sender, at) =>
        sampleSpan({ id: at + 1, ...(at === 0 ? of("a::open") : { parent: at }), ...from(sender) } as SampleSpan),
      ),
      () => true,
    ).length;
  expect(seen("one", "one", "one")).toBe(3);
  expect(seen(undefined, "one", "one")).toBe(3);
  expect(seen("one", undefined)).toBe(1);
  expect(seen("one", "two")).toBe(1);
  expect(seen("one", undefined, "one")).toBe(1);
  expect(seen(undefined, "one", undefined)).toBe(2);
});

it("visibleSpans ends where parents lead in a circle", () => {
  const spans = [
    sampleSpan({ trace: 1, id: 1, parent: 2 }),
    sampleSpan({ trace: 1, id: 2, parent: 1 }),
    sampleSpan({ trace: 1, id: 3, parent: 2, ...of("no") }),
  ];
  expect(visibleSpans(spans, () => false)).toEqual([]);
  expect(visibleSpans(spans, () => true)).toHaveLength(3);
});
