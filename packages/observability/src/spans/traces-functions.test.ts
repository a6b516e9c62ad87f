import { bindTrigger, type InMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { sampleSpan, spanIdOf, traceIdOf } from "./testing/sample-spans.ts";
import { type SpansEngine, spansEngine } from "./testing/spans-engine.ts";

const running: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of running.splice(0)) await engine.stop();
});

async function start(config: Readonly<Record<string, unknown>> = {}): Promise<SpansEngine> {
  const started = await spansEngine(config);
  running.push(started.engine);
  return started;
}

interface TreeSpan {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly children: TreeSpan[];
  readonly child_count: number;
}
interface Tree {
  readonly roots: TreeSpan[];
  readonly returned: number;
  readonly span_count: number;
  readonly cursor: string | null;
  readonly partial: boolean;
  readonly orphans: string[];
}

function shapeOf(spans: readonly TreeSpan[]): unknown[] {
  return spans.map(({ span_id, children }) => [Number.parseInt(span_id, 16), ...shapeOf(children)]);
}

describe("engine::traces::list", () => {
  it("answers root spans with what their traces are like, times as texts too, and where the next page begins (gap 44) (gap 49)", async () => {
    const { engine, sink } = await start();
    sink.ended(sampleSpan({ trace: 1, id: 2, parent: 1, startMs: 1, service: "math", status: "error" }));
    sink.ended(sampleSpan({ trace: 1, id: 1, tookMs: 2.5, attributes: { "svc.function_id": "a::b", n: 1 } }));
    sink.ended(sampleSpan({ trace: 2, id: 3, startMs: 9 }));
    const first = (await engine.call("engine::traces::list", { limit: 1 })) as { cursor: string };
    expect(first).toMatchObject({
      spans: [{ trace_id: traceIdOf(2) }],
      total: 2,
      offset: 0,
      limit: 1,
      storage: "memory",
      as_of: expect.any(Number),
    });
    const second = await engine.call("engine::traces::list", { limit: 1, cursor: first.cursor });
    expect(second).toMatchObject({
      cursor: null,
      spans: [
        {
          span_id: spanIdOf(1),
          parent_span_id: null,
          start_time_unix_nano: 1_700_000_000_000_000_000,
          start_time_unix_nano_text: "1700000000000000000",
          end_time_unix_nano_text: "1700000000002500000",
          start_time_ms: 1_700_000_000_000,
          duration_ms: 2.5,
          status: "unset",
          service_name: "svc",
          internal: false,
          attributes: [
            ["svc.function_id", "a::b"],
            ["n", "1"],
          ],
          attributes_map: { "svc.function_id": "a::b", n: 1 },
          trace: {
            root_name: "span 1",
            services: ["math", "svc"],
            status: "ok",
            duration_ms: 2.5,
            span_count: 2,
            error_count: 1,
            partial: false,
            function_id: "a::b",
          },
        },
      ],
    });
  });

  it("refuses a cursor of another sort, and a filter without a value", async () => {
    const { engine, sink } = await start();
    for (const id of [1, 2]) sink.ended(sampleSpan({ trace: id, id }));
    const { cursor } = (await engine.call("engine::traces::list", { limit: 1 })) as { cursor: string };
    await expect(engine.call("engine::traces::list", { limit: 1, cursor, sort_by: "duration" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(engine.call("engine::traces::list", { filters: [{ key: "a", op: "gt" }] })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  it("says which setting is missing where spans are only sent elsewhere", async () => {
    const { engine } = await start({ exporter: "otlp" });
    await expect(engine.call("engine::traces::list", {})).rejects.toMatchObject({
      code: "memory_exporter_not_enabled",
      message: expect.stringContaining(
        "In-memory span storage is not available. Set exporter: memory or both in config",
      ),
    });
  });
});

describe("engine::traces::tree", () => {
  const tree = (engine: InMemoryEngine, more: Record<string, unknown> = {}): Promise<Tree> =>
    engine.call("engine::traces::tree", { trace_id: traceIdOf(1), ...more }) as Promise<Tree>;

  it("hangs spans below their parents, by their beginning, whatever order they came in", async () => {
    const { engine, sink } = await start();
    sink.ended(sampleSpan({ id: 4, parent: 2, startMs: 3 }));
    sink.ended(sampleSpan({ id: 3, parent: 1, startMs: 2 }));
    sink.ended(sampleSpan({ id: 2, parent: 1, startMs: 1, service: "math", status: "error", tookMs: 3 }));
    sink.ended(sampleSpan({ id: 1 }));
    const answer = await tree(engine);
    expect(shapeOf(answer.roots)).toEqual([[1, [2, [4]], [3]]]);
    expect(answer).toMatchObject({ span_count: 4, returned: 4, cursor: null, partial: false, orphans: [] });
    expect(answer).toMatchObject({
      services: expect.arrayContaining([{ name: "math", spans: 1, errors: 1, avg_duration_ms: 3 }]),
    });
    expect(shapeOf((await tree(engine, { root_span_id: spanIdOf(2) })).roots)).toEqual([[2, [4]]]);
    const cut = await tree(engine, { max_depth: 1 });
    expect(shapeOf(cut.roots)).toEqual([[1, [2], [3]]]);
    expect(cut.roots[0]?.children.map(({ child_count }) => child_count)).toEqual([1, 0]);
  });

  it("shows two roots, names orphans, and finds its way out of circles", async () => {
    const { engine, sink } = await start();
    for (const id of [1, 2]) sink.ended(sampleSpan({ id, startMs: id }));
    sink.ended(sampleSpan({ id: 3, parent: 99, startMs: 3 }));
    sink.ended(sampleSpan({ id: 4, parent: 6, startMs: 4 }));
    sink.ended(sampleSpan({ id: 5, parent: 4, startMs: 5 }));
    sink.ended(sampleSpan({ id: 6, parent: 5, startMs: 6 }));
    sink.ended(sampleSpan({ id: 7, parent: 7, startMs: 7 }));
    const answer = await tree(engine);
    expect(shapeOf(answer.roots)).toEqual([[1], [2], [3], [7], [4, [5, [6]]]]);
    expect(answer).toMatchObject({ partial: true, orphans: [spanIdOf(3)], returned: 7 });
  });

  it("of 10,000 spans comes page by page, and every page hangs on those before (gap 44)", async () => {
    const { engine, sink } = await start();
    for (let id = 1; id <= 10_000; id += 1)
      sink.ended(sampleSpan({ id, ...(id === 1 ? {} : { parent: Math.floor(id / 3) || 1 }), startMs: id }));
    const known = new Set<string>();
    let cursor: string | null = null;
    const add = (span: TreeSpan): void => {
      known.add(span.span_id);
      span.children.forEach(add);
    };
    do {
      const page: Tree = await tree(engine, cursor === null ? {} : { cursor });
      expect(page.returned).toBe(2_000);
      for (const top of page.roots) if (top.parent_span_id !== null) expect(known).toContain(top.parent_span_id);
      page.roots.forEach(add);
      cursor = page.cursor;
    } while (cursor !== null);
    expect(known.size).toBe(10_000);
  });
});

describe("other functions of traces", () => {
  it("read the spans of one, or a single span with its events", async () => {
    const { engine, sink } = await start();
    for (const id of [1, 2, 3])
      sink.ended(sampleSpan({ id, startMs: id, events: [{ name: "e", timeUnixNano: 7n, attributes: { k: "v" } }] }));
    const first = (await engine.call("engine::traces::spans", { trace_id: traceIdOf(1), limit: 2 })) as {
      spans: unknown[];
      cursor: string;
    };
    expect(first).toMatchObject({ total: 3, spans: [{ span_id: spanIdOf(1) }, { span_id: spanIdOf(2) }] });
    expect(await engine.call("engine::traces::spans", { trace_id: traceIdOf(1), cursor: first.cursor })).toMatchObject({
      spans: [{ span_id: spanIdOf(3) }],
      cursor: null,
    });
    const span = await engine.call("engine::traces::get_span", { trace_id: traceIdOf(1), span_id: spanIdOf(2) });
    expect(span).toMatchObject({ events: [{ name: "e", timestamp_unix_nano_text: "7", attributes: [["k", "v"]] }] });
    expect(await engine.call("engine::traces::get_span", { trace_id: traceIdOf(1), span_id: spanIdOf(9) })).toBeNull();
  });

  it("read the spans of one without what only details need, or only the ids of those with a text", async () => {
    const { engine, sink } = await start();
    const events = [{ name: "e", timeUnixNano: 7n, attributes: { k: "v" } }];
    for (const id of [1, 2, 3])
      sink.ended(sampleSpan({ id, startMs: id, events, attributes: { tenant: `Shop ${id}` } }));
    const lean = (await engine.call("engine::traces::spans", { trace_id: traceIdOf(1), detail: "lean" })) as {
      spans: readonly object[];
    };
    expect(lean).toMatchObject({
      total: 3,
      spans: [{ span_id: spanIdOf(1), events: [{ name: "e", timestamp_unix_nano_text: "7" }] }, {}, {}],
    });
    expect(lean.spans[0]).not.toHaveProperty("attributes");
    expect(JSON.stringify(lean)).not.toContain("Shop");
    const found = { trace_id: traceIdOf(1), detail: "ids", text: "  tenant=SHOP 2 " };
    expect(await engine.call("engine::traces::spans", found)).toEqual({
      spans: [{ span_id: spanIdOf(2) }],
      total: 1,
      cursor: null,
    });
    const page = (text: string, cursor?: string) =>
      engine.call("engine::traces::spans", {
        trace_id: traceIdOf(1),
        detail: "ids",
        text,
        limit: 1,
        cursor,
      }) as Promise<{ total: number; cursor: string }>;
    const first = await page("shop");
    expect(first).toMatchObject({ total: 3, spans: [{ span_id: spanIdOf(1) }] });
    expect(await page("shop", first.cursor)).toMatchObject({ spans: [{ span_id: spanIdOf(2) }] });
    expect(await page("shop nowhere")).toEqual({ spans: [], total: 0, cursor: null });
  });

  it("count over all that matches, over time, over durations and by the value of an attribute", async () => {
    const { engine, sink } = await start();
    for (let n = 0; n < 20; n += 1) {
      const attributes = { tenant: `s${n % 2}`, title: `Tenant ${n % 2}`, "svc.function_id": "a::b" };
      sink.ended(
        sampleSpan({
          trace: n + 1,
          id: n + 1,
          startMs: n * 10,
          tookMs: n + 1,
          status: n < 5 ? "error" : "ok",
          attributes,
        }),
      );
    }
    const facets = { facets: ["status", "service", "tenant"] };
    expect(await engine.call("engine::traces::facets", { ...facets, min_duration_ms: 3 })).toEqual({
      total: 18,
      facets: {
        status: [
          { value: "ok", count: 15 },
          { value: "error", count: 3 },
        ],
        service: [{ value: "svc", count: 18 }],
        tenant: [
          { value: "s0", count: 9 },
          { value: "s1", count: 9 },
        ],
      },
    });
    const histogram = (await engine.call("engine::traces::histogram", { buckets: 4 })) as Record<
      "time" | "duration",
      { count: number; errors?: number; min_ms?: number }[]
    >;
    expect(histogram.time.map(({ count, errors }) => [count, errors])).toEqual([
      [5, 5],
      [5, 0],
      [5, 0],
      [5, 0],
    ]);
    expect(histogram.duration.reduce((sum, { count }) => sum + count, 0)).toBe(20);
    // A logarithmic scale has no 0.
    expect(histogram.duration[0]?.min_ms).toBe(1);
    const { groups } = (await engine.call("engine::traces::group_by", {
      attribute: "tenant",
      label_attribute: "title",
    })) as {
      groups: { trace_ids: string[]; last_span: { trace_id: string; status: string } }[];
    };
    expect(groups).toMatchObject([
      { value: "s1", label: "Tenant 1", span_count: 10, error_count: 2 },
      { value: "s0", error_count: 3 },
    ]);
    expect(groups[0]?.trace_ids).toHaveLength(10);
    expect(groups.map(({ last_span }) => last_span)).toMatchObject([
      { trace_id: expect.any(String), status: "ok" },
      { status: "ok" },
    ]);
    expect(groups[0]?.trace_ids).toContain(groups[0]?.last_span.trace_id);
  });

  it("compare two traces by structure", async () => {
    const { engine, sink } = await start();
    const add = (trace: number, id: number, more: Partial<Parameters<typeof sampleSpan>[0]>): void =>
      sink.ended(sampleSpan({ trace, id, ...more }));
    for (const [trace, slow] of [
      [1, 1],
      [2, 8],
    ] as const) {
      add(trace, 1, { name: "root", tookMs: 20 });
      add(trace, 2, { parent: 1, name: "get", startMs: 1 });
      add(trace, 3, { parent: 1, name: "get", startMs: 2, tookMs: slow });
    }
    add(1, 4, { parent: 2, name: "old" });
    add(2, 5, { parent: 3, name: "new" });
    const { rows } = (await engine.call("engine::traces::compare", { a: traceIdOf(1), b: traceIdOf(2) })) as {
      rows: Record<string, unknown>[];
    };
    expect(rows.map(({ path, change, delta_ms }) => [(path as string[]).at(-1), change, delta_ms])).toEqual([
      ["svc root", "same", 0],
      ["svc get", "same", 0],
      ["svc old", "removed", null],
      ["svc get #2", "slower", 7],
      ["svc new", "added", null],
    ]);
    await expect(engine.call("engine::traces::compare", { a: traceIdOf(1), b: traceIdOf(7) })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("export lines that import takes in again, and OTLP", async () => {
    const { engine, sink } = await start();
    for (let id = 1; id <= 30; id += 1)
      sink.ended(sampleSpan({ trace: (id % 3) + 1, id, startMs: id, attributes: { id, list: [1, "a"] } }));
    const read = async (input: object): Promise<string> => {
      const { lines } = (await engine.call("engine::traces::export", input)) as { lines: unknown };
      const reader = engine.takeReader(lines);
      let text = "";
      for (let item = await reader.read(); item !== undefined; item = await reader.read())
        text += item.kind === "text" ? item.text : "";
      expect(reader.ended).toBe("finished");
      return text;
    };
    const otlp = (await read({ format: "otlp_json" })).trimEnd().split("\n");
    expect(otlp).toHaveLength(3);
    expect(JSON.parse(otlp[0] ?? "")).toMatchObject({
      resourceSpans: [{ scopeSpans: [{ spans: expect.any(Array) }] }],
    });
    const text = await read({ trace_ids: [traceIdOf(1), traceIdOf(2)] });
    expect(text.trimEnd().split("\n")).toHaveLength(20);
    const before = await engine.call("engine::traces::tree", { trace_id: traceIdOf(2) });
    await engine.call("engine::traces::clear", {});
    expect(await engine.call("engine::traces::list", {})).toMatchObject({ total: 0 });
    const channel = engine.kernel.channels.create();
    const imported = engine.call("engine::traces::import", { lines: channel.ref("read") });
    const writer = engine.takeWriter(channel.ref("write"));
    await writer.write({ kind: "text", text: `${text}no span\n` });
    writer.end();
    expect(await imported).toEqual({ imported: 20, refused: 1 });
    expect(await engine.call("engine::traces::tree", { trace_id: traceIdOf(2) })).toEqual(before);
    expect(before).toMatchObject({ span_count: 10 });
  });
});

describe("svc.traces and the trigger type trace", () => {
  it("tell of traces as they change", async () => {
    const { engine, sink } = await start();
    const socket = engine.openSocket("/");
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "svc.traces", groupId: "all" } });
    await socket.next((message) => JSON.stringify(message).includes("sync"));
    sink.started(sampleSpan({ id: 1, tookMs: null }));
    const told = await socket.next((message) => JSON.stringify(message).includes('traces":['));
    expect(JSON.stringify(told)).toContain(`"trace_id":"${traceIdOf(1)}"`);
    expect(JSON.stringify(told)).toContain('"status":"pending"');
  });

  it("fire once for traces that have ended and match, together", async () => {
    const { engine, sink } = await start();
    const worker = await engine.connectWorker();
    const calls: unknown[] = [];
    let called = (): void => {};
    worker.serve("w::on_trace", (data) => {
      calls.push(data);
      called();
      return null;
    });
    await bindTrigger(worker, "trace", "w::on_trace", { status: "error", min_duration_ms: 5 });
    const first = new Promise<void>((resolve) => (called = resolve));
    sink.ended(sampleSpan({ trace: 1, id: 1, tookMs: 9, status: "error" }));
    sink.ended(sampleSpan({ trace: 2, id: 2, tookMs: 9, status: "ok" }));
    sink.ended(sampleSpan({ trace: 3, id: 3, tookMs: 1, status: "error" }));
    sink.ended(sampleSpan({ trace: 4, id: 4, tookMs: 9, status: "error" }));
    await first;
    const second = new Promise<void>((resolve) => (called = resolve));
    sink.ended(sampleSpan({ trace: 1, id: 5, parent: 1, tookMs: 9, status: "error" }));
    sink.ended(sampleSpan({ trace: 6, id: 6, tookMs: 9, status: "error" }));
    await second;
    expect(calls).toEqual([{ trace_ids: [traceIdOf(1), traceIdOf(4)] }, { trace_ids: [traceIdOf(6)] }]);
  });
});
