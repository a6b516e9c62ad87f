import { accessTo, bindTrigger, type InMemoryEngine } from "@svc-runtime/engine/testing";
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
}

function depthOf(spans: readonly TreeSpan[]): number {
  return spans.length === 0 ? 0 : 1 + Math.max(...spans.map(({ children }) => depthOf(children)));
}

function allOf(spans: readonly TreeSpan[]): TreeSpan[] {
  return spans.flatMap((span) => [span, ...allOf(span.children)]);
}

describe("a trace of calls that called each other 1,500 deep", () => {
  async function deep(): Promise<InMemoryEngine> {
    const { engine, sink } = await start();
    const name = "a function that calls itself";
    for (const trace of [1, 2]) {
      const first = trace * 10_000;
      for (let n = 0; n < 1_500; n += 1) {
        sink.ended(
          sampleSpan({
            trace,
            id: first + n,
            ...(n === 0 ? {} : { parent: first + n - 1 }),
            startMs: n,
            tookMs: 2_000 - n,
            name,
          }),
        );
      }
    }
    return engine;
  }

  it("comes in one answer, nested no deeper than the wire takes, and hangs together by the ids of parents", async () => {
    const engine = await deep();
    const tree = (await engine.call("engine::traces::tree", { trace_id: traceIdOf(1) })) as {
      roots: TreeSpan[];
      orphans: string[];
    };
    expect(depthOf(tree.roots)).toBeLessThanOrEqual(40);
    expect(tree.orphans).toEqual([]);
    expect(allOf(tree.roots).map(({ span_id, parent_span_id }) => [span_id, parent_span_id])).toEqual(
      Array.from({ length: 1_500 }, (_, n) => [spanIdOf(10_000 + n), n === 0 ? null : spanIdOf(10_000 + n - 1)]),
    );
    // A worker receives no frame that its client could not read.
    const worker = await engine.connectWorker();
    expect(await worker.call("engine::traces::tree", { trace_id: traceIdOf(1) })).toMatchObject({
      result: { span_count: 1_500 },
    });
  });

  it("is compared as far as its paths fit, and says so", async () => {
    const engine = await deep();
    const compared = (await engine.call("engine::traces::compare", { a: traceIdOf(1), b: traceIdOf(2) })) as {
      rows: unknown[];
      truncated?: boolean;
    };
    expect(compared.truncated).toBe(true);
    expect(compared.rows.length).toBeGreaterThan(300);
    expect(JSON.stringify(compared).length).toBeLessThan(8_000_000);
  });
});

describe("engine::traces::import", () => {
  it("takes requests of OTLP, as the export writes them, span by span (L-6)", async () => {
    const { engine, sink } = await start();
    for (let id = 1; id <= 4; id += 1)
      sink.ended(
        sampleSpan({
          trace: 1,
          id,
          ...(id === 1 ? {} : { parent: 1 }),
          startMs: id,
          kind: "server",
          attributes: { id },
        }),
      );
    const { lines } = (await engine.call("engine::traces::export", { format: "otlp_json" })) as { lines: unknown };
    const reader = engine.takeReader(lines);
    let text = "";
    for (let item = await reader.read(); item !== undefined; item = await reader.read())
      text += item.kind === "text" ? item.text : "";
    const before = await engine.call("engine::traces::tree", { trace_id: traceIdOf(1) });
    await engine.call("engine::traces::clear", {});
    const channel = engine.kernel.channels.create();
    const importing = engine.call("engine::traces::import", { lines: channel.ref("read"), format: "otlp_json" });
    const writer = engine.takeWriter(channel.ref("write"));
    await writer.write({
      kind: "text",
      text: `${text}{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"no ids"}]}]}]}\n{}\n`,
    });
    writer.end();
    expect(await importing).toEqual({ imported: 4, refused: 2 });
    expect(await engine.call("engine::traces::tree", { trace_id: traceIdOf(1) })).toEqual(before);
  });

  it("ends when its writer breaks off, and others can be made after it", async () => {
    const { engine } = await start();
    for (let n = 0; n < 10; n += 1) {
      const channel = engine.kernel.channels.create();
      const importing = engine.call("engine::traces::import", { lines: channel.ref("read") });
      engine.takeWriter(channel.ref("write")).abort("gone");
      await expect(importing).rejects.toMatchObject({ code: "channel_closed" });
    }
  });
});

describe("pending spans from outside", () => {
  it("make room for others like any, and do not take that of the engine's own", async () => {
    const { engine, sink } = await start({ memory_max_spans: 100, trace_storage: { enabled: false } });
    const own = sampleSpan({ trace: 1, id: 1, tookMs: null });
    sink.started(own);
    for (let id = 2; id <= 12_000; id += 1) sink.ended(sampleSpan({ trace: id, id, tookMs: null }));
    const second = sampleSpan({ trace: 20_000, id: 20_000, tookMs: null });
    sink.started(second);
    expect(await engine.call("engine::traces::list", { status: "pending" })).toMatchObject({ total: 102 });
    expect(await engine.call("engine::traces::list", { trace_id: second.traceId })).toMatchObject({ total: 1 });
  });
});

describe("the trigger type trace", () => {
  it("ignores what its own deliveries did, even if the engine records no spans itself (gap 45)", async () => {
    const { engine, sink } = await start();
    const worker = await engine.connectWorker();
    const told: string[][] = [];
    let called = (): void => {};
    worker.serve("w::on_trace", (data, message) => {
      told.push((data as { trace_ids: string[] }).trace_ids);
      // As a worker's own OpenTelemetry would send it.
      const traceId = String(message.traceparent).split("-")[1] ?? "";
      sink.ended({ ...sampleSpan({ id: 100 + told.length }), traceId });
      called();
      return null;
    });
    await bindTrigger(worker, "trace", "w::on_trace", {});
    const once = (): Promise<void> => new Promise((resolve) => (called = resolve));
    const first = once();
    sink.ended(sampleSpan({ trace: 1, id: 1 }));
    await first;
    // If the delivery's own trace were reported, it would be together with this one or before it.
    const second = once();
    sink.ended(sampleSpan({ trace: 2, id: 2 }));
    await second;
    expect(told).toEqual([[traceIdOf(1)], [traceIdOf(2)]]);
  });

  it("is refused to a connection that may not read traces", async () => {
    const { engine } = await start();
    const guest = await engine.connectWorker({ access: accessTo(['match("guest::*")']) });
    guest.serve("guest::on_trace", () => null);
    await expect(bindTrigger(guest, "trace", "guest::on_trace", {})).rejects.toThrow(/engine::traces::list/);
  });
});
