import { defineModule } from "@svc-runtime/engine/module";
import { manualClock } from "@svc-runtime/engine/testing";
import { CallError } from "@svc-runtime/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type ObservedEngine, observedEngine } from "./testing/observed-engine.ts";

const OUTSIDE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const W3C = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

let engine: ObservedEngine;
afterEach(() => engine.stop());

async function twoHops(
  config: Parameters<typeof observedEngine>[0] = {},
): Promise<{ caller: Awaited<ReturnType<ObservedEngine["connectWorker"]>> }> {
  engine = await observedEngine(config);
  const math = await engine.connectWorker({ name: "math-worker" });
  const front = await engine.connectWorker({ name: "front-worker" });
  const caller = await engine.connectWorker({ name: "outside" });
  math.serve("math::add", () => 3);
  front.serve(
    "front::sum",
    async (_data, frame) =>
      (await front.call("math::add", { a: 1 }, { traceparent: frame.traceparent, baggage: "user=ann%20b" })).result,
  );
  // A call on the same connection after the registration finds the function.
  await math.call("engine::none");
  await front.call("engine::none");
  return { caller };
}

describe("spans of calls", () => {
  test("over two hops each has the one above as its parent, and its worker as its service", async () => {
    const { caller } = await twoHops();
    const answer = await caller.call("front::sum", { a: 1 });
    expect(answer.result).toBe(3);
    const sum = engine.spanOf("front::sum");
    const add = engine.spanOf("math::add");
    expect(sum.parentSpanId).toBeUndefined();
    expect(add.parentSpanId).toBe(sum.spanId);
    expect(add.traceId).toBe(sum.traceId);
    expect([sum.resource.service, add.resource.service]).toEqual(["front-worker", "math-worker"]);
    expect([sum.status, add.status]).toEqual(["ok", "ok"]);
    expect(sum.startUnixNano <= add.startUnixNano && (add.endUnixNano ?? 0n) <= (sum.endUnixNano ?? 0n)).toBe(true);
    expect(add.baggage).toEqual({ user: "ann b" });
    expect(add.attributes).toMatchObject({
      "svc.function_id": "math::add",
      "svc.caller.name": "front-worker",
      "svc.worker.name": "math-worker",
    });
  });

  test("are sent to published clients in every result, and to ours when they trace", async () => {
    await twoHops();
    const published = await engine.connectWorker({ name: "published", features: [] });
    expect((await published.call("math::add", {})).traceparent).toMatch(W3C);
    const ours = await engine.connectWorker({ name: "ours" });
    expect((await ours.call("math::add", {})).traceparent).toBeNull();
    expect((await ours.call("math::add", {}, { traceparent: OUTSIDE })).traceparent).toMatch(W3C);
  });

  test("continue the trace that a caller brings, and hand on one of their own", async () => {
    const { caller } = await twoHops();
    const answer = await caller.call("math::add", { a: 1 }, { traceparent: OUTSIDE });
    const add = engine.spanOf("math::add");
    expect([add.traceId, add.parentSpanId]).toEqual(["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]);
    expect(answer.traceparent).toBe(`00-${add.traceId}-${add.spanId}-01`);
    expect(answer.traceparent).toMatch(W3C);
  });

  test.each([
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    "nonsense",
    "",
  ])("begin a new trace where the traceparent is %j", async (traceparent) => {
    const { caller } = await twoHops();
    await caller.call("math::add", {}, { traceparent });
    const add = engine.spanOf("math::add");
    expect(add.parentSpanId).toBeUndefined();
    expect(add.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(add.traceId).not.toBe("0af7651916cd43dd8448eb211c80319c");
  });

  test("of a module do not trust a traceparent that a module passes on", async () => {
    await twoHops();
    await engine.call("math::add", {}, { traceparent: "00-zz" });
    expect(engine.spanOf("math::add").parentSpanId).toBeUndefined();
  });

  test("show what went in and out, cut to the preview's length", async () => {
    const { caller } = await twoHops({ payload_preview_bytes: 64 });
    await caller.call("math::add", { text: "x".repeat(500) });
    const [input, output] = engine.spanOf("math::add").events;
    expect(input?.name).toBe("svc.input");
    expect(input?.attributes["svc.payload.json"]).toBe(`{"text":"${"x".repeat(55)}`);
    expect(input?.attributes).toMatchObject({ "svc.payload.truncated": true, "svc.payload.bytes": 511 });
    expect(output).toMatchObject({
      name: "svc.output",
      attributes: { "svc.payload.json": "3", "svc.payload.truncated": false, "svc.payload.bytes": 1 },
    });
  });

  test("keep characters beyond Latin whole", async () => {
    const { caller } = await twoHops();
    await caller.call("math::add", "zwölf 𝄞 日本");
    const [input] = engine.spanOf("math::add").events;
    expect(input?.attributes["svc.payload.json"]).toBe('"zwölf 𝄞 日本"');
    expect(input?.attributes["svc.payload.bytes"]).toBe(Buffer.byteLength('"zwölf 𝄞 日本"'));
  });

  test("keep nothing of payloads where previews are off", async () => {
    const { caller } = await twoHops({ payload_previews: false });
    await caller.call("math::add", { secret: 1 });
    expect(engine.spanOf("math::add").events).toEqual([]);
  });

  test("say that a payload was cut, also where characters have several bytes", async () => {
    const { caller } = await twoHops();
    await caller.call("math::add", "日".repeat(100_000));
    const record = [...engine.calls.history].find(({ name }) => name === "math::add");
    expect([record?.inputBytes, record?.inputCut]).toEqual([300_002, true]);
    expect(record?.input?.length).toBeGreaterThan(20_000);
  });

  test("keep only the beginning of a large payload", async () => {
    const { caller } = await twoHops();
    await caller.call("math::add", "y".repeat(300_000));
    const record = engine.calls.history.byId([...engine.calls.history][0]?.invocationId ?? "");
    expect(record?.input?.length).toBe(64 * 1024);
    expect([record?.inputBytes, record?.inputCut]).toEqual([300_002, true]);
  });

  test("of a failed call have the error as their status and as an event", async () => {
    const { caller } = await twoHops();
    const math = await engine.connectWorker({ name: "broken" });
    math.serve("math::break", () => {
      throw new CallError("out_of_numbers", "no more numbers");
    });
    await math.call("engine::none");
    await caller.call("math::break");
    const span = engine.spanOf("math::break");
    expect([span.status, span.statusDescription]).toEqual(["error", "no more numbers"]);
    expect(span.attributes["svc.error.code"]).toBe("out_of_numbers");
    expect(span.events.at(-1)).toMatchObject({
      name: "exception",
      attributes: { "exception.type": "out_of_numbers", "exception.message": "no more numbers" },
    });
  });

  test("are pending while the call runs; a cancelled one ends as an error", async () => {
    engine = await observedEngine();
    const worker = await engine.connectWorker({ name: "slow" });
    worker.serve("slow::wait", () => new Promise(() => {}));
    await worker.call("engine::none");
    const abort = new AbortController();
    const waiting = engine.call("slow::wait", {}, { signal: abort.signal });
    expect(engine.started.at(-1)).toMatchObject({ name: "slow::wait", status: "unset", endUnixNano: undefined });
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "call_cancelled" });
    expect(engine.spanOf("slow::wait").attributes["svc.error.code"]).toBe("call_cancelled");
    expect(engine.calls.stats.of("slow::wait")).toMatchObject({ cancelled: 1, errors: 1, inFlight: 0 });
  });

  test("end when the deadline passes, counted as timed out", async () => {
    engine = await observedEngine();
    const worker = await engine.connectWorker({ name: "slow" });
    worker.serve("slow::wait", () => new Promise(() => {}));
    await worker.call("engine::none");
    await expect(engine.call("slow::wait", {}, { timeoutMs: 60 })).rejects.toMatchObject({ code: "call_timeout" });
    expect(engine.spanOf("slow::wait").status).toBe("error");
    expect(engine.calls.stats.of("slow::wait")).toMatchObject({
      timedOut: 1,
      errors: 1,
      inFlight: 0,
      lastResult: "timeout",
    });
  });

  test("are created for calls without a provider, with the engine as their service", async () => {
    const { caller } = await twoHops();
    await caller.call("no::such", { a: 1 }, { traceparent: OUTSIDE });
    const span = engine.spanOf("no::such");
    expect([span.status, span.resource.service, span.parentSpanId]).toEqual(["error", "svc", "b7ad6b7169203331"]);
    expect(engine.calls.stats.of("(other)").refused).toBeGreaterThan(0);
  });

  test("are made of void calls and of jobs", async () => {
    const { caller } = await twoHops();
    caller.say({ type: "invokefunction", function_id: "math::add", action: { type: "void" }, data: {} });
    await engine.call("math::add", {}, { job: { queue: "sums", id: "7", attempt: 2 } });
    const spans = engine.spans.filter(({ name }) => name === "math::add");
    expect(spans).toHaveLength(2);
    expect(spans.find(({ kind }) => kind === "consumer")?.attributes).toMatchObject({
      "svc.job.queue": "sums",
      "svc.job.id": "7",
      "svc.job.attempt": 2,
    });
  });

  test("are not made of the engine's own functions that a console asks, and internal within a trace", async () => {
    const looks = defineModule({
      name: "looks",
      summary: "",
      config: z.unknown(),
      start({ provideFunction }) {
        provideFunction({ id: "engine::looks::list", summary: "", input: z.unknown(), handle: () => [] });
        return { stop: () => {} };
      },
    });
    engine = await observedEngine({}, { modules: [looks], config: { looks: null } });
    const worker = await engine.connectWorker();
    await worker.call("engine::looks::list");
    expect(engine.spans).toEqual([]);
    expect(engine.calls.stats.of("engine::looks::list").ok).toBe(1);
    const answer = await worker.call("engine::looks::list", {}, { traceparent: OUTSIDE });
    expect(engine.spanOf("engine::looks::list")).toMatchObject({
      internal: true,
      kind: "internal",
      parentSpanId: "b7ad6b7169203331",
    });
    expect(answer.traceparent).toMatch(W3C);
  });

  test("are not made of queues that a console or a command looks at, but when a worker uses them", async () => {
    const queue = defineModule({
      name: "queue",
      summary: "",
      config: z.unknown(),
      start({ provideFunction }) {
        provideFunction({ id: "engine::queue::topics", summary: "", input: z.unknown(), handle: () => [] });
        return { stop: () => {} };
      },
    });
    engine = await observedEngine({}, { modules: [queue], config: { queue: null } });
    for (const kind of ["console", "cli"] as const)
      await (await engine.connectWorker({ kind })).call("engine::queue::topics");
    expect(engine.spans).toEqual([]);
    await (await engine.connectWorker()).call("engine::queue::topics");
    expect(engine.spanOf("engine::queue::topics").internal).toBe(false);
  });

  test("that are kept for being slow keep no texts of others that are not kept", async () => {
    const clock = manualClock();
    engine = await observedEngine({ sampling_ratio: 0 }, { clock });
    const worker = await engine.connectWorker();
    worker.serve("work::slow", () => {
      clock.advance(2_000);
      return "x";
    });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    await engine.call("work::slow", {});
    expect(engine.spanOf("work::slow")).toMatchObject({ sampled: false, durationMs: 2_000 });
    expect(engine.calls.recorder.otherTexts.chunk).toBeUndefined();
  });

  test("are not made of what a console or a command asks of modules, which is counted", async () => {
    const keeps = defineModule({
      name: "keeps",
      summary: "",
      config: z.unknown(),
      start({ provideFunction }) {
        provideFunction({ id: "keep::get", summary: "", input: z.unknown(), handle: () => 7 });
        return { stop: () => {} };
      },
    });
    engine = await observedEngine({}, { modules: [keeps], config: { keeps: null } });
    const [worker, page, command] = await Promise.all(
      ["worker", "console", "cli"].map((kind) => engine.connectWorker({ name: kind, kind })),
    );
    worker?.serve("math::add", () => 3);
    await worker?.call("engine::none");

    // The console opens a span for each call, and the calls that follow are below it.
    expect((await page?.call("keep::get", {}, { traceparent: OUTSIDE }))?.result).toBe(7);
    await page?.call("keep::get");
    await command?.call("keep::get");
    await page?.call("keep::none");
    expect(engine.spans).toEqual([]);
    expect([...engine.calls.history]).toEqual([]);
    expect(engine.calls.stats.of("keep::get")).toMatchObject({ calls: 3, ok: 3 });

    await page?.call("math::add");
    await command?.call("math::add");
    await command?.call("keep::get", {}, { traceparent: OUTSIDE });
    await worker?.call("keep::get");
    await engine.call("keep::get");
    expect(engine.spans.map(({ name }) => name)).toEqual([
      "math::add",
      "math::add",
      "keep::get",
      "keep::get",
      "keep::get",
    ]);
  });

  test("are not made while it is switched off, but calls are counted; and again when it is switched on", async () => {
    const { caller } = await twoHops({ enabled: false });
    const answer = await caller.call("math::add", {}, { traceparent: OUTSIDE });
    expect([engine.spans.length, answer.traceparent]).toEqual([0, OUTSIDE]);
    expect(engine.calls.stats.of("math::add")).toMatchObject({ calls: 1, ok: 1 });
    await engine.applyModules([
      { name: "svc-observability", config: { enabled: true } },
      { name: "svc-cron", config: {} },
    ]);
    await caller.call("math::add");
    expect(engine.spans).toHaveLength(1);
  });

  test("counts nothing where metrics are off as well", async () => {
    const { caller } = await twoHops({ enabled: false, metrics_enabled: false });
    await caller.call("math::add");
    expect(engine.calls.stats.size).toBe(0);
  });
});

describe("spans of modules", () => {
  test("stand above the calls that they cause, and tell where those come from", async () => {
    await twoHops();
    const tick = engine.telemetry.startSpan({
      name: "cron nightly",
      kind: "internal",
      attributes: { "cron.expression": "* * *" },
    });
    await engine.call("math::add", {}, { traceparent: tick.traceparent });
    tick.setAttribute("late", true);
    tick.end();
    tick.end({ error: "too late" });
    const span = engine.spanOf("cron nightly");
    expect(engine.spanOf("math::add").parentSpanId).toBe(span.spanId);
    expect(span).toMatchObject({
      status: "ok",
      attributes: { "cron.expression": "* * *", late: true },
      resource: { service: "svc" },
    });
    expect([...engine.calls.history][0]?.source).toBe("cron");
  });

  test("that failed say why, once", async () => {
    engine = await observedEngine();
    const span = engine.telemetry.startSpan({
      name: "queue orders",
      kind: "consumer",
      traceparent: OUTSIDE,
      links: [OUTSIDE, "junk"],
    });
    span.end({ error: new CallError("call_timeout", "it took too long") });
    const kept = engine.spanOf("queue orders");
    expect(kept).toMatchObject({
      status: "error",
      statusDescription: "it took too long",
      parentSpanId: "b7ad6b7169203331",
    });
    expect(kept.links).toEqual([
      { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", attributes: {} },
    ]);
    expect(kept.events[0]?.attributes["exception.type"]).toBe("call_timeout");
  });

  test("are bounded, whatever they are given", async () => {
    engine = await observedEngine();
    const span = engine.telemetry.startSpan({ name: "n".repeat(100_000), kind: "server" });
    for (let at = 0; at < 10_000; at++) span.setAttribute(`a${at}`, "v".repeat(10_000));
    span.end();
    const kept = engine.spans.at(-1);
    expect(Object.keys(kept?.attributes ?? {})).toHaveLength(128);
    expect(kept?.size).toBeLessThan(700_000);
    expect(kept?.name).toHaveLength(4_096);
  });
});

test("sampling decides at the root, travels in the flags, and is followed by the next hop", async () => {
  const { caller } = await twoHops({ sampling_ratio: 0 });
  const seen: unknown[] = [];
  caller.serve("outside::look", (_data, frame) => seen.push(frame.traceparent));
  await caller.call("engine::none");
  await caller.call("outside::look", {});
  expect(seen).toEqual([expect.stringMatching(/-00$/)]);
  await caller.call("front::sum", {});
  expect(engine.spans).toEqual([]);
  await caller.call("front::sum", {}, { traceparent: OUTSIDE });
  expect(engine.spans.map(({ name }) => name).sort()).toEqual(["front::sum", "math::add"]);
});

test("of a trace that was not sampled an error keeps all of it", async () => {
  const { caller } = await twoHops({ sampling_ratio: 0 });
  await caller.call("front::sum", {}, { traceparent: OUTSIDE.replace(/01$/, "00") });
  expect(engine.spans).toEqual([]);
  await caller.call("no::such", {}, { traceparent: OUTSIDE.replace(/01$/, "00") });
  expect(engine.spans.map(({ name }) => name)).toEqual(["math::add", "front::sum", "no::such"]);
  expect(engine.spanOf("front::sum").spanId).toBe(engine.spanOf("math::add").parentSpanId);
});

test("when the wall clock is set, later spans use the new time, and durations stay correct", async () => {
  const clock = manualClock();
  engine = await observedEngine({}, { clock });
  const before = engine.telemetry.startSpan({ name: "before", kind: "internal" });
  clock.advance(2_000);
  clock.jumpTo(Date.UTC(2030, 0, 1));
  before.end();
  const after = engine.telemetry.startSpan({ name: "after", kind: "internal" });
  clock.advance(5);
  after.end();
  expect(engine.spanOf("before").durationMs).toBe(2_000);
  expect(engine.spanOf("after").startUnixNano).toBe(BigInt(Date.UTC(2030, 0, 1)) * 1_000_000n);
  expect((engine.spanOf("after").endUnixNano ?? 0n) - engine.spanOf("after").startUnixNano).toBe(5_000_000n);
});
