import { beforeEach, expect, test } from "vitest";
import { encodeLogs, encodeMetrics, encodeTraces } from "./encode.ts";
import { CUT_MARK, MAX_RECORD_BYTES } from "./limits.ts";
import { CollectedTelemetry } from "./testing/collected-telemetry.ts";
import { SOME_RESOURCE, someLog, someMetric, someSpan } from "./testing/records.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const NOW = "1790000000123456789";
let telemetry: CollectedTelemetry;
beforeEach(() => {
  telemetry = new CollectedTelemetry();
});

function span(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    name: "a",
    kind: 1,
    startTimeUnixNano: NOW,
    endTimeUnixNano: NOW,
    ...more,
  };
}

function traces(spans: readonly unknown[], resource: unknown = {}): unknown {
  return { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] };
}

function logs(...logRecords: readonly unknown[]): unknown {
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

const pair = (key: string, value: unknown): unknown => ({ key, value });

test("a span that was encoded is read back as it was", () => {
  const whole = someSpan({
    parentSpanId: "00f067aa0ba902b7",
    attributes: { text: "a", whole: 42, part: 0.5, yes: true, none: null, list: [1, "b"], map: { inside: "c" } },
    events: [{ name: "exception", timeUnixNano: 1_790_000_000_200_000_001n, attributes: { "exception.type": "boom" } }],
    links: [{ traceId: TRACE_ID, spanId: "c7ad6b7169203331", attributes: {} }],
    status: "error",
    statusDescription: "it broke",
    scopeName: "handler",
  });
  telemetry.decode("traces", encodeTraces([whole]));
  const [read] = telemetry.ended;
  expect({ ...read, resource: undefined, size: 0, attributes: { ...read?.attributes } }).toEqual({
    ...whole,
    resource: undefined,
    size: 0,
    outside: true,
  });
  expect(read?.resource.service).toBe("math-worker");
});

test("a log entry and a metric that were encoded are read back as they were", () => {
  const log = someLog({ traceId: TRACE_ID, spanId: SPAN_ID, attributes: { n: 1 } });
  telemetry.decode("logs", encodeLogs([log]));
  expect({ ...telemetry.logRecords[0], resource: undefined }).toEqual({ ...log, resource: undefined });
  const metric = someMetric();
  telemetry.decode("metrics", encodeMetrics([metric]));
  expect({ ...telemetry.metricRecords[0], resource: undefined }).toEqual({ ...metric, resource: undefined });
});

test("integers come as numbers or as text, names may be null, lists may be missing", () => {
  telemetry.decode("traces", {
    resourceSpans: [
      {
        resource: null,
        scopeSpans: [
          {
            scope: { name: null, version: null },
            spans: [
              span({
                startTimeUnixNano: 1_790_000_000_000_000_000,
                attributes: [pair("a", { intValue: 5 }), pair("b", { intValue: "6" })],
              }),
            ],
          },
          {},
          null,
        ],
      },
      {},
    ],
  });
  expect(telemetry.ended[0]).toMatchObject({
    startUnixNano: 1_790_000_000_000_000_000n,
    scopeName: undefined,
    outside: true,
    links: [],
    events: [],
  });
  expect({ ...telemetry.ended[0]?.attributes }).toMatchObject({ a: 5, b: 6 });
});

test("a span of our SDKs is sampled by its flags; one of other senders is always sampled", () => {
  const ours = { attributes: [pair("telemetry.sdk.name", { stringValue: "svc" })] };
  const others = { attributes: [pair("telemetry.sdk.name", { stringValue: "opentelemetry" })] };
  const sampledOf = (resource: unknown, flags: unknown, isFrame = true): boolean | undefined => {
    telemetry = new CollectedTelemetry();
    telemetry.decode("traces", traces([span({ flags })], resource), { isFrame });
    return telemetry.ended[0]?.sampled;
  };
  expect([
    sampledOf(ours, 0),
    sampledOf(ours, 1),
    sampledOf(ours, 256),
    sampledOf(ours, undefined),
    sampledOf(ours, "no"),
  ]).toEqual([false, true, false, true, true]);
  expect([sampledOf(others, 0), sampledOf({}, 0), sampledOf(ours, 0, false)]).toEqual([true, true, true]);
});

test("a span that ends at 0 is pending, and is not waited for as one that the engine itself began", () => {
  telemetry.decode(
    "traces",
    traces([span({ endTimeUnixNano: "0" }), span({ endTimeUnixNano: undefined, spanId: "c7ad6b7169203331" })]),
  );
  expect(telemetry.pending).toEqual([]);
  expect(telemetry.ended.map(({ endUnixNano }) => endUnixNano)).toEqual([undefined, undefined]);
});

test("a malformed record is refused and counted, and those beside it are taken (L-6)", () => {
  const bad = [
    null,
    "text",
    [],
    span({ traceId: "xyz" }),
    span({ traceId: "0".repeat(32) }),
    span({ spanId: undefined }),
    span({ parentSpanId: SPAN_ID }),
    span({ parentSpanId: "zz" }),
    span({ startTimeUnixNano: "tomorrow" }),
    span({ startTimeUnixNano: "18446744073709551615" }),
    span({ startTimeUnixNano: -5 }),
    span({ startTimeUnixNano: {} }),
  ];
  const verdicts = telemetry.decode("traces", traces([span(), ...bad, span({ spanId: "c7ad6b7169203331" })]));
  expect(verdicts).toEqual([true, ...bad.map(() => false), true]);
  expect(telemetry.ended).toHaveLength(2);
  expect(Object.fromEntries(telemetry.counts)).toEqual({
    "spans malformed": 3,
    "spans bad_id": 5,
    "spans bad_time": 4,
  });
});

test("times that cannot be right are kept and marked; an end before the start becomes the start", () => {
  telemetry.decode(
    "traces",
    traces([
      span({ startTimeUnixNano: "1", endTimeUnixNano: NOW }),
      span({ endTimeUnixNano: "1790000000000000000" }),
      span(),
    ]),
  );
  expect(telemetry.ended.map(({ attributes }) => attributes["svc.time_suspect"])).toEqual([true, true, undefined]);
  expect(telemetry.ended[1]?.endUnixNano).toBe(BigInt(NOW));
});

test("a million attributes cost no more than the bound, and a key that is too long is left out", () => {
  const attributes = Array.from({ length: 1_000_000 }, (_, at) => pair(`k${at}`, { stringValue: "v" }));
  telemetry.decode(
    "traces",
    traces([
      span({ attributes }),
      span({ attributes: [pair("x".repeat(300), { intValue: 1 }), pair("ok", { intValue: 1 })] }),
    ]),
  );
  expect(Object.keys(telemetry.ended[0]?.attributes ?? {})).toHaveLength(128);
  expect(Object.keys(telemetry.ended[1]?.attributes ?? {})).toEqual(["ok"]);
  expect(telemetry.counts.get("spans record_limit_attributes")).toBe(1_000_000 - 128 + 1);
});

test("an attribute of 10 MB is cut with a mark, at a whole character", () => {
  telemetry.decode(
    "traces",
    traces([span({ attributes: [pair("big", { stringValue: `x${"ü".repeat(5_000_000)}` })] })]),
  );
  const value = telemetry.ended[0]?.attributes.big as string;
  expect(value.endsWith(CUT_MARK)).toBe(true);
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(16 * 1024 + Buffer.byteLength(CUT_MARK));
  expect(value).not.toContain("\ufffd");
  expect(telemetry.ended[0]?.size).toBeLessThan(20_000);
});

test("all of one record together is bounded, whatever its parts are", () => {
  const attributes = Array.from({ length: 128 }, (_, at) => pair(`k${at}`, { stringValue: "x".repeat(16_000) }));
  const events = Array.from({ length: 200 }, () => ({ name: "e", timeUnixNano: NOW, attributes }));
  telemetry.decode("traces", traces([span({ attributes, events })]));
  const [read] = telemetry.ended;
  expect(read?.size).toBeLessThan(MAX_RECORD_BYTES + 30_000);
  expect(JSON.stringify([read?.attributes, read?.events]).length).toBeLessThan(MAX_RECORD_BYTES * 1.2);
});

test("values inside one another are read to a depth, and lists to a length", () => {
  let value: unknown = { stringValue: "inside" };
  for (let depth = 0; depth < 5_000; depth += 1) value = { arrayValue: { values: [value] } };
  telemetry.decode(
    "traces",
    traces([
      span({
        attributes: [pair("deep", value), pair("long", { arrayValue: { values: Array(1_000).fill({ intValue: 1 }) } })],
      }),
    ]),
  );
  expect(JSON.stringify(telemetry.ended[0]?.attributes.deep).length).toBeLessThan(100);
  expect(telemetry.ended[0]?.attributes.long).toHaveLength(128);
});

test("names that every object has are attributes like others", () => {
  telemetry.decode(
    "traces",
    traces([
      span({ attributes: [pair("__proto__", { stringValue: "p" }), pair("constructor", { stringValue: "c" })] }),
    ]),
  );
  const attributes = telemetry.ended[0]?.attributes ?? {};
  expect(Object.keys(attributes)).toEqual(["__proto__", "constructor"]);
  expect(({} as Record<string, unknown>).p).toBeUndefined();
  expect(Object.getPrototypeOf(attributes)).toBeNull();
});

test("the kinds of the published Python client, one too low, are put right; those of others are not touched", () => {
  const python = { attributes: [pair("telemetry.sdk.language", { stringValue: "python" })] };
  const own = { attributes: [...python.attributes, pair("telemetry.sdk.name", { stringValue: "svc" })] };
  telemetry.decode("traces", traces([span({ kind: 1 }), span({ kind: 0 })], python), { isFrame: true });
  telemetry.decode("traces", traces([span({ kind: 1 })], python), { isFrame: false });
  telemetry.decode("traces", traces([span({ kind: 1 })], own), { isFrame: true });
  telemetry.decode("traces", traces([span({ kind: 1 }), span({ kind: 5 })], python), { isFrame: true });
  expect(telemetry.ended.map(({ kind }) => kind)).toEqual([
    "server",
    "internal",
    "internal",
    "internal",
    "internal",
    "consumer",
  ]);
});

test("a resource may not claim another's worker", () => {
  const claim = {
    attributes: [pair("svc.worker.id", { stringValue: "w-9" }), pair("service.name", { stringValue: "evil" })],
  };
  telemetry.decode("traces", traces([span()], claim), { worker: { id: "w-1", name: "math-worker" } });
  telemetry.decode("traces", traces([span()], claim));
  telemetry.decode("traces", traces([span()], claim), { mayBeWorker: (id) => id === "w-9" });
  expect(telemetry.ended.map(({ resource }) => [resource.workerId, resource.attributes["svc.worker.id"]])).toEqual([
    ["w-1", "w-1"],
    [undefined, undefined],
    ["w-9", "w-9"],
  ]);
});

test("a service of a restricted sender bears its principal, whatever its resource names", () => {
  const claim = { attributes: [pair("service.name", { stringValue: "payments" })] };
  telemetry.decode("traces", traces([span()], claim), {
    worker: { id: "w-1", name: "guest" },
    restrictedTo: "role reader",
  });
  telemetry.decode("traces", traces([span()], claim), { restrictedTo: "prefix acme" });
  expect(telemetry.ended.map(({ resource }) => resource.service)).toEqual([
    "guest (role reader)",
    "unknown_service (prefix acme)",
  ]);
});

test("attributes that say whose a record is are taken from a restricted sender only where they are true", () => {
  const text = (key: string, stringValue: string): unknown => pair(key, { stringValue });
  const attributes = [
    ...[
      "svc.function_id",
      "function_id",
      "svc.invocation_id",
      "invocation_id",
      "svc.worker.id",
      "svc.worker.name",
      "worker_id",
      "svc.trigger.type",
    ].map((key) => text(key, "secret::pay")),
    pair("svc.internal", { boolValue: true }),
    text("color", "red"),
  ];
  const own = [text("svc.function_id", "api::x"), text("function_id", "api::x"), text("svc.log.id", "1")];
  const guest = {
    worker: { id: "w-1", name: "guest" },
    restrictedTo: "role reader",
    providesFunction: (id: string) => id === "api::x",
  };
  const event = { name: "svc.input", attributes: [text("svc.payload.json", "{}")] };
  telemetry.decode(
    "traces",
    traces([span({ attributes, events: [event] }), span({ attributes: own.slice(0, 2) })], { attributes }),
    guest,
  );
  telemetry.decode("logs", logs({ attributes }, { attributes: own }), guest);
  const [first, second] = telemetry.ended;
  expect(first).toMatchObject({
    attributes: { color: "red" },
    internal: false,
    resource: { workerId: "w-1", restrictedTo: "role reader" },
  });
  expect(Object.keys(first?.attributes ?? {})).toEqual(["color"]);
  expect(first?.resource.attributes).toEqual({ color: "red", "svc.worker.id": "w-1" });
  expect(first?.events[0]?.attributes).toEqual({});
  expect(second?.attributes).toEqual({ "svc.function_id": "api::x", function_id: "api::x" });
  const entries = telemetry.logRecords.map((log) => log.attributes);
  expect(entries).toEqual([
    { color: "red" },
    { "svc.function_id": "api::x", function_id: "api::x", "svc.log.id": "1" },
  ]);
  telemetry.decode("traces", traces([span({ attributes })]));
  expect(Object.keys(telemetry.ended[2]?.attributes ?? {})).toHaveLength(10);
  expect(telemetry.ended[2]?.internal).toBe(true);
});

test("labels of a restricted sender do not name another service or worker", () => {
  const labels = {
    "worker.id": "w-9",
    worker_id: "w-9",
    "service.name": "payments",
    service_name: "payments",
    function_id: "secret::pay",
    color: "red",
  };
  const body = encodeMetrics([
    someMetric({ points: someMetric().points.map((point) => ({ ...point, attributes: labels })) }),
  ]);
  const guest = { worker: { id: "w-1", name: "guest" }, restrictedTo: "role reader" };
  telemetry.decode("metrics", body, guest);
  telemetry.decode(
    "metrics",
    encodeMetrics([
      someMetric({ points: someMetric().points.map((point) => ({ ...point, attributes: { "worker.id": "w-1" } })) }),
    ]),
    guest,
  );
  telemetry.decode("metrics", body);
  expect(telemetry.metricRecords.map(({ points }) => points[0]?.attributes)).toEqual([
    { color: "red" },
    { "worker.id": "w-1" },
    labels,
  ]);
});

test("what names no service is its worker's", () => {
  telemetry.decode("traces", traces([span()]), { worker: { id: "w-1", name: "math-worker" } });
  telemetry.decode("traces", traces([span()]));
  expect(telemetry.ended.map(({ resource }) => resource.service)).toEqual(["math-worker", "unknown_service"]);
});

test("severity is known by its number or by its name; FATAL is an ERROR", () => {
  telemetry.decode(
    "logs",
    logs({ severityNumber: 21 }, { severityText: "warn" }, { severityNumber: 99 }, { severityNumber: "5" }, {}),
  );
  expect(telemetry.logRecords.map(({ severityNumber, severityText }) => `${severityNumber} ${severityText}`)).toEqual([
    "21 ERROR",
    "13 WARN",
    "9 INFO",
    "5 DEBUG",
    "9 INFO",
  ]);
});

test("a body of any kind becomes text; control characters stay, and more than 64 KiB is cut and marked", () => {
  const colours = "\u001b[31mred\u001b[0m\u0000";
  telemetry.decode(
    "logs",
    logs(
      { body: { stringValue: colours } },
      { body: { kvlistValue: { values: [pair("a", { intValue: 1 })] } } },
      { body: { stringValue: "x".repeat(10_000_000) } },
      { body: null },
    ),
  );
  const [first, second, third, fourth] = telemetry.logRecords;
  expect(first?.body).toBe(colours);
  expect(second?.body).toBe('{"a":1}');
  expect(third?.body.length).toBeLessThan(65_600);
  expect(third?.attributes["svc.truncated"]).toBe(true);
  expect(fourth?.body).toBe("");
});

test("a line with ids that cannot be is still a line", () => {
  expect(telemetry.decode("logs", logs({ body: "a", traceId: "nonsense", spanId: 5 }))).toEqual([true]);
  expect(telemetry.logRecords[0]?.traceId).toBeUndefined();
});

test("points that hold no number are refused one by one, and kinds that are no longer written are counted", () => {
  const points = [{ asDouble: 1, timeUnixNano: NOW }, { asDouble: "NaN" }, { asInt: "7", timeUnixNano: NOW }, null, {}];
  const metrics = [
    { name: "a", gauge: { dataPoints: points } },
    { name: "b", summary: { dataPoints: [] } },
    { name: "", gauge: {} },
    { name: "c" },
  ];
  const verdicts = telemetry.decode("metrics", { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  expect(verdicts).toEqual([true, false, true, false, false, false, false, false]);
  expect(telemetry.metricRecords.map(({ name, points: read }) => [name, read.map(({ value }) => value)])).toEqual([
    [
      "a",
      [
        { type: "number", value: 1 },
        { type: "number", value: 7 },
      ],
    ],
  ]);
  expect(telemetry.counts.get("metrics unsupported_kind")).toBe(1);
});

test("a histogram must have one bucket more than bounds, which rise", () => {
  const good = { count: "3", sum: 6, bucketCounts: ["1", "2"], explicitBounds: [5], timeUnixNano: NOW };
  const dataPoints = [
    good,
    { ...good, explicitBounds: [5, 6] },
    { ...good, explicitBounds: ["x"] },
    { ...good, bucketCounts: [-1, 4] },
    { count: 4, sum: 1 },
  ];
  const verdicts = telemetry.decode("metrics", {
    resourceMetrics: [
      { scopeMetrics: [{ metrics: [{ name: "h", histogram: { dataPoints, aggregationTemporality: 1 } }] }] },
    ],
  });
  expect(verdicts).toEqual([true, false, false, false, true]);
  expect(telemetry.metricRecords[0]?.temporality).toBe("delta");
});

test("an exponential histogram becomes one with bounds and keeps its counts", () => {
  const point = (scale: number, bucketCounts: readonly number[]) => ({
    count: 10,
    sum: 40,
    scale,
    zeroCount: 1,
    positive: { offset: 0, bucketCounts },
    timeUnixNano: NOW,
  });
  const read = (dataPoint: unknown) => {
    telemetry.decode("metrics", {
      resourceMetrics: [
        { scopeMetrics: [{ metrics: [{ name: "e", exponentialHistogram: { dataPoints: [dataPoint] } }] }] },
      ],
    });
    return telemetry.metricRecords.at(-1)?.points[0]?.value;
  };
  expect(read(point(0, [4, 5]))).toMatchObject({ bounds: [1, 2, 4], bucketCounts: [1, 4, 5, 0] });
  const fine = read(
    point(
      8,
      Array(1_000)
        .fill(0.0)
        .map((_, at) => (at < 9 ? 1 : 0)),
    ),
  );
  expect(
    fine?.type === "histogram" && fine.bounds.length <= 161 && fine.bucketCounts.reduce((sum, count) => sum + count, 0),
  ).toBe(10);
});

test("whatever comes, nothing is thrown", () => {
  const junk: unknown[] = [
    null,
    1,
    "x",
    [],
    {},
    { resourceSpans: 5 },
    { resourceSpans: [null, 1, { scopeSpans: {} }, { scopeSpans: [1, { spans: "x" }] }] },
  ];
  for (const value of junk) {
    for (const signal of ["traces", "logs", "metrics"] as const)
      expect(() => telemetry.decode(signal, value)).not.toThrow();
    for (const name of Object.keys(span()))
      expect(() =>
        telemetry.decode("traces", traces([span({ [name]: value, attributes: value, events: [value] })], value)),
      ).not.toThrow();
  }
  expect(SOME_RESOURCE.service).toBe("math-worker");
});
