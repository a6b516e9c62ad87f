import { FEATURES } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { connect as connectBrowser } from "../browser.ts";
import { FakeEngine, type Frame, plainAttributes, type TelemetryFrame } from "../fake-engine.test.support.ts";
import { createLogger, type LogRecord, silentLogger } from "../logger.ts";
import { type CallContext, connect, type NodeWorkerOptions, type Worker } from "../node.ts";
import { MAX_UNSAMPLED_PER_SECOND } from "./spans.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACE = `00-${TRACE_ID}-${PARENT}-01`;
const UNSAMPLED = `00-${TRACE_ID}-${PARENT}-00`;

let engine: FakeEngine;
const workers: Worker[] = [];
let lines: LogRecord[];

function open(options: NodeWorkerOptions = {}): Worker {
  const logger = createLogger({ write: (record) => lines.push(record) });
  const made = connect(engine.address, {
    name: "probe",
    logger,
    handleSignals: false,
    reconnect: { initialDelayMs: 1 },
    ...options,
  });
  workers.push(made);
  return made;
}

beforeEach(async () => {
  lines = [];
  engine = await FakeEngine.start();
  engine.greeting = { engine: { version: "0.1.0", instance_id: "i" } };
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  await Promise.all(workers.splice(0).map((each) => each.shutdown({ timeoutMs: 1 })));
  await engine.stop();
});

const invoke = (function_id: string, more: Frame = {}): Frame => ({
  data: null,
  type: "invokefunction",
  invocation_id: ID,
  function_id,
  ...more,
});
const answer = (): Promise<Frame> => engine.frame({ type: "invocationresult", invocation_id: ID });
const recordsOf = (frames: readonly TelemetryFrame[], signal: string) =>
  frames.filter((frame) => frame.signal === signal).flatMap((frame) => frame.records);
const logOf = (message: string) =>
  engine.telemetryWith((frames) => recordsOf(frames, "LOGS").find((record) => record.body.stringValue === message));
const spanOf = (name: string) =>
  engine.telemetryWith((frames) => recordsOf(frames, "OTLP").find((record) => record.name === name));

async function handled(body: (context: CallContext) => unknown, more: Frame = { traceparent: TRACE }): Promise<Frame> {
  const worker = open();
  worker.registerFunction("f", (_input, context) => body(context));
  await engine.frame({ type: "registerfunction", id: "f" });
  await worker.connected();
  engine.send(invoke("f", more));
  return answer();
}

describe("log lines", () => {
  it("of a handler go to the engine with the call's trace and span, and name the same id as the line on stderr", async () => {
    await handled(({ log }) => log.warn("order late", { order_id: 7, tags: ["a", { b: true }], at: 1.5 }));
    const record = await logOf("order late");
    expect(record).toMatchObject({ severityNumber: 13, severityText: "WARN", traceId: TRACE_ID, spanId: PARENT });
    expect(plainAttributes(record.attributes)).toMatchObject({
      "svc.function_id": "f",
      "svc.invocation_id": ID,
      order_id: "7",
      at: 1.5,
      tags: { values: [{ stringValue: "a" }, { kvlistValue: { values: [{ key: "b", value: { boolValue: true } }] } }] },
    });
    expect(Number(record.timeUnixNano.slice(0, -6))).toBeCloseTo(Date.now(), -5);
    const line = lines.find(({ message }) => message === "order late");
    expect(line?.fields).toMatchObject({
      worker: "probe",
      function_id: "f",
      invocation_id: ID,
      trace_id: TRACE_ID,
      span_id: PARENT,
    });
    expect(line?.fields.log_id).toBe(plainAttributes(record.attributes)["svc.log.id"]);
    const [frame] = engine.telemetry;
    expect(frame?.resource).toMatchObject({
      "service.name": "probe",
      "telemetry.sdk.name": "svc",
      "telemetry.sdk.language": "nodejs",
      "process.pid": String(process.pid),
    });
  });

  it("of worker.log belong to the call in which they are made, and to none outside", async () => {
    await handled(() => workers[0]?.log.info("inside"));
    expect(await logOf("inside")).toMatchObject({ traceId: TRACE_ID, spanId: PARENT });
    workers[0]?.log.info("outside");
    expect(await logOf("outside")).not.toHaveProperty("traceId");
  });

  it("contain an error as exception.type, exception.message and exception.stacktrace", async () => {
    await handled(({ log }) => log.error("it broke", { error: new RangeError("too far") }));
    expect(plainAttributes((await logOf("it broke")).attributes)).toMatchObject({
      "exception.type": "RangeError",
      "exception.message": "too far",
      "exception.stacktrace": expect.stringContaining("telemetry.test"),
    });
  });

  it("made before the engine has registered the worker are sent afterwards", async () => {
    open().log.info("early");
    await logOf("early");
  });

  it("below the logger's level are not sent", async () => {
    const worker = open();
    worker.log.debug("quiet");
    worker.log.info("loud");
    await logOf("loud");
    expect(recordsOf(engine.telemetry, "LOGS").map((record) => record.body.stringValue)).not.toContain("quiet");
  });

  it("in the buffer are sent when the worker shuts down", async () => {
    const worker = open();
    await worker.connected();
    worker.log.info("last words");
    await worker.shutdown();
    await logOf("last words");
  });

  it("accept getters, cycles and many keys, within limits", async () => {
    const worker = open();
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    worker.log.info("odd", {
      big: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key-${n}`, n])),
      cycle,
      nan: Number.NaN,
    });
    worker.log.info("long", {
      text: "x".repeat(10_000_000),
      none: null,
      left_out: undefined,
      huge: 2n ** 70n,
      f: () => 1,
    });
    const odd = await logOf("odd");
    expect(JSON.stringify(odd).length).toBeLessThan(100_000);
    expect(plainAttributes(odd.attributes)).toMatchObject({ nan: "NaN" });
    const long = await logOf("long");
    expect(JSON.stringify(long).length).toBeLessThan(50_000);
    expect(plainAttributes(long.attributes)).toMatchObject({
      huge: String(2n ** 70n),
      f: "[function]",
      none: undefined,
    });
    expect(plainAttributes(long.attributes)).not.toHaveProperty("left_out");
  });

  it("whose fields throw when they are read are still sent", async () => {
    const worker = open();
    const fields = {
      nested: {
        get trap(): never {
          throw new Error("no");
        },
      },
    };
    worker.log.info("trapped", fields);
    expect(plainAttributes((await logOf("trapped")).attributes)).toMatchObject({ nested: "[unreadable]" });
  });
});

describe("spans of a program", () => {
  it("are children of the call's span, and parents of calls, log lines and spans made inside", async () => {
    await handled(async ({ span, call, log }) =>
      span(
        "load orders",
        async (outer) => {
          outer.setAttribute("rows", 3);
          outer.addEvent("loaded", { from: "cache" });
          log.info("loading");
          await span("parse", () => undefined);
          void call({ function_id: "g" }).catch(() => {});
          return outer.traceparent;
        },
        { attributes: { table: "orders" }, kind: "client" },
      ),
    );
    const outer = await spanOf("load orders");
    expect(outer).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT, kind: 3, flags: 1, status: { code: 0 } });
    expect(plainAttributes(outer.attributes)).toEqual({
      "svc.function_id": "f",
      "svc.invocation_id": ID,
      table: "orders",
      rows: "3",
    });
    expect(outer.events).toMatchObject([
      { name: "loaded", attributes: [{ key: "from", value: { stringValue: "cache" } }] },
    ]);
    expect(BigInt(outer.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(outer.startTimeUnixNano));
    expect(await spanOf("parse")).toMatchObject({ traceId: TRACE_ID, parentSpanId: outer.spanId, kind: 1 });
    expect(await logOf("loading")).toMatchObject({ traceId: TRACE_ID, spanId: outer.spanId });
    expect((await engine.frame({ function_id: "g" })).traceparent).toBe(`00-${TRACE_ID}-${outer.spanId}-01`);
    expect((await answer()).result).toBe(`00-${TRACE_ID}-${outer.spanId}-01`);
  });

  it("record an error thrown inside, and rethrow it, sync or async", async () => {
    const worker = open();
    expect(() =>
      worker.span("sync", () => {
        throw new TypeError("now");
      }),
    ).toThrow("now");
    await expect(worker.span("async", () => Promise.reject(new Error("later")))).rejects.toThrow("later");
    const failed = await spanOf("sync");
    expect(failed.status).toEqual({ code: 2, message: "now" });
    expect(failed.events[0].name).toBe("exception");
    expect(plainAttributes(failed.events[0].attributes)).toMatchObject({
      "exception.type": "TypeError",
      "exception.message": "now",
    });
    expect((await spanOf("async")).status).toEqual({ code: 2, message: "later" });
  });

  it("outside of calls start a trace, which calls continue", async () => {
    const worker = open();
    await worker.span("job", () => {
      void worker.callVoid({ function_id: "g" });
      return worker.span("inner", () => undefined);
    });
    const job = await spanOf("job");
    expect(job).not.toHaveProperty("parentSpanId");
    expect(await spanOf("inner")).toMatchObject({ traceId: job.traceId, parentSpanId: job.spanId });
    expect((await engine.frame({ function_id: "g" })).traceparent).toBe(`00-${job.traceId}-${job.spanId}-01`);
  });

  it("of an unsampled call are marked so: the engine keeps them only if the trace failed or was slow", async () => {
    await handled(
      ({ span, call }) =>
        span("seen if it fails", () => {
          void call({ function_id: "g" }).catch(() => {});
        }),
      { traceparent: UNSAMPLED },
    );
    const own = await spanOf("seen if it fails");
    expect(own).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT, flags: 0 });
    expect((await engine.frame({ function_id: "g" })).traceparent).toBe(`00-${TRACE_ID}-${own.spanId}-00`);
  });

  it("of unsampled calls are limited, and calls inside a dropped span belong to its parent", async () => {
    await handled(
      ({ span, call }) => {
        for (let n = 0; n < MAX_UNSAMPLED_PER_SECOND; n++) span(`span ${n}`, () => {});
        span("left out", () => {
          void call({ function_id: "g" }).catch(() => {});
        });
      },
      { traceparent: UNSAMPLED },
    );
    expect((await engine.frame({ function_id: "g" })).traceparent).toBe(UNSAMPLED);
    await workers[0]?.shutdown({ timeoutMs: 1 });
    expect(recordsOf(engine.telemetry, "OTLP")).toHaveLength(MAX_UNSAMPLED_PER_SECOND);
  });

  it("are not sent if they are switched off, sampled or not", async () => {
    vi.stubEnv("SVC_TELEMETRY", "off");
    await handled(({ span }) => span("unseen", () => {}), { traceparent: UNSAMPLED });
    await workers[0]?.shutdown({ timeoutMs: 1 });
    expect(recordsOf(engine.telemetry, "OTLP")).toEqual([]);
  });

  it("keep 128 attributes and events, and count the rest", async () => {
    open().span("full", (span) => {
      for (let n = 0; n < 1000; n++) {
        span.setAttribute(`a${n}`, n);
        span.addEvent(`e${n}`);
      }
    });
    const full = await spanOf("full");
    expect([full.attributes.length, full.droppedAttributesCount, full.events.length, full.droppedEventsCount]).toEqual([
      128, 872, 128, 872,
    ]);
  });
});

describe("baggage", () => {
  it("is passed on unchanged, and its entries are decoded", async () => {
    const baggage = "user=J%C3%BCrgen;ttl=1, tenant = a ,broken=%zz";
    await handled(
      ({ baggageEntry, call }) => {
        void call({ function_id: "g" }).catch(() => {});
        return ["user", "tenant", "broken", "none"].map((name) => baggageEntry(name));
      },
      { traceparent: TRACE, baggage },
    );
    expect((await answer()).result).toEqual(["Jürgen", "a", "%zz", null]);
    expect((await engine.frame({ function_id: "g" })).baggage).toBe(baggage);
  });
});

describe("telemetry", () => {
  const featuresOf = async () =>
    ((await engine.frame({ function_id: "engine::workers::register" })).data as Frame).features;

  it("is sent only to svc engines", async () => {
    engine.greeting = {};
    const worker = open();
    await worker.connected();
    worker.log.info("kept");
    worker.span("kept", () => undefined);
    await worker.shutdown();
    expect(engine.telemetry).toEqual([]);
  });

  it("is declared as the feature `logs`", async () => {
    open();
    expect(await featuresOf()).toEqual(FEATURES);
  });

  it.each([
    ["the option false", { telemetry: false }, ""],
    ["single options", { telemetry: { logs: false, spans: false, metrics: false } }, ""],
    ["the variable", {}, " OFF "],
    ["being a command line", { kind: "cli" }, ""],
  ] as const)("is switched off by %s", async (_how, options, variable) => {
    vi.stubEnv("SVC_TELEMETRY", variable);
    const worker = open(options);
    await worker.connected();
    worker.log.info("quiet");
    expect(worker.span("still runs", () => 1)).toBe(1);
    expect(await featuresOf()).not.toContain("logs");
    await worker.shutdown();
    expect(engine.telemetry).toEqual([]);
    expect(lines.find(({ message }) => message === "quiet")?.fields).toEqual({ worker: "probe" });
  });

  it("is on with the option although the variable is off", async () => {
    vi.stubEnv("SVC_TELEMETRY", "off");
    open({ telemetry: { logs: true } }).log.info("heard");
    await logOf("heard");
  });

  it("is off in browsers unless it is enabled", async () => {
    vi.stubGlobal("WebSocket", WebSocket);
    const page = connectBrowser(engine.address, { name: "page", logger: silentLogger });
    workers.push(page);
    await page.connected();
    expect(page.span("still runs", (span) => span.traceparent)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(await featuresOf()).not.toContain("logs");
    const telling = connectBrowser(engine.address, {
      name: "telling",
      telemetry: { spans: true },
      logger: silentLogger,
    });
    workers.push(telling);
    telling.span("seen", () => undefined);
    await spanOf("seen");
  });
});
