import { expect, test } from "vitest";
import { encodeAttributes, encodeLogs, encodeMetrics, encodeTraces } from "./encode.ts";
import { ProtobufError, readMessage, writeMessage } from "./protobuf.ts";
import { REQUESTS } from "./schema.ts";
import { SOME_RESOURCE, someLog, someMetric, someSpan } from "./testing/records.ts";

const RICH_SPAN = someSpan({
  parentSpanId: "00f067aa0ba902b7",
  status: "error",
  statusDescription: "it broke",
  attributes: {
    text: "ä",
    whole: 42,
    part: 0.5,
    yes: true,
    none: null,
    list: ["a", 1],
    map: { inside: "b" },
    many: "9007199254740993",
  },
  events: [{ name: "exception", timeUnixNano: 1_790_000_000_200_000_001n, attributes: { "exception.type": "boom" } }],
  links: [{ traceId: "1af7651916cd43dd8448eb211c80319c", spanId: "c7ad6b7169203331", attributes: {} }],
  scopeName: "handler",
  scopeVersion: "1.0",
});

test("a span is written as OTLP/JSON: ids in hex, nanoseconds as text to the last digit (gap 49)", () => {
  const [ofResource] = encodeTraces([RICH_SPAN]).resourceSpans;
  expect(ofResource?.scopeSpans[0]?.scope).toEqual({ name: "handler", version: "1.0" });
  expect(ofResource?.scopeSpans[0]?.spans[0]).toMatchObject({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "00f067aa0ba902b7",
    kind: 2,
    startTimeUnixNano: "1790000000123456789",
    status: { code: 2, message: "it broke" },
  });
});

test("values of attributes keep their kinds", () => {
  expect(encodeAttributes({ text: "a", whole: 42, part: 0.5, large: 1e300, never: Number.NaN, none: null })).toEqual([
    { key: "text", value: { stringValue: "a" } },
    { key: "whole", value: { intValue: "42" } },
    { key: "part", value: { doubleValue: 0.5 } },
    { key: "large", value: { doubleValue: 1e300 } },
    { key: "never", value: { doubleValue: "NaN" } },
    { key: "none", value: {} },
  ]);
});

test("each service is a resource of its own, named by its worker", () => {
  const spans = [
    someSpan(),
    someSpan({ resource: { service: "svc", workerId: undefined, attributes: {} } }),
    someSpan({ resource: { ...SOME_RESOURCE } }),
  ];
  const { resourceSpans } = encodeTraces(spans);
  expect(
    resourceSpans.map(({ resource, scopeSpans }) => [resource.attributes[0]?.value, scopeSpans[0]?.spans.length]),
  ).toEqual([
    [{ stringValue: "math-worker" }, 2],
    [{ stringValue: "svc" }, 1],
  ]);
  expect(resourceSpans[0]?.resource.attributes).toContainEqual({
    key: "service.instance.id",
    value: { stringValue: "w-1" },
  });
});

const histogram = someMetric({
  name: "svc.call.duration",
  type: "histogram",
  points: [
    {
      attributes: {},
      timeUnixNano: 5n,
      startUnixNano: undefined,
      value: { type: "histogram", count: 3, sum: 12.5, min: 1, max: 9, bucketCounts: [1, 2], bounds: [5] },
    },
  ],
});

test.each([
  ["traces", encodeTraces([RICH_SPAN, someSpan()])],
  [
    "logs",
    encodeLogs([someLog({ traceId: RICH_SPAN.traceId, spanId: RICH_SPAN.spanId, attributes: { a: [1, "b", null] } })]),
  ],
  ["metrics", encodeMetrics([someMetric(), histogram, someMetric({ type: "gauge", temporality: undefined })])],
] as const)("%s come back from protobuf as they went into it", (signal, json) => {
  const read = readMessage(writeMessage(json, REQUESTS[signal]), REQUESTS[signal]);
  expect(JSON.parse(JSON.stringify(read))).toEqual(dropEmptyLists(JSON.parse(JSON.stringify(json))));
});

/** Protobuf has no empty lists. */
function dropEmptyLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmptyLists);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, member]) => !(Array.isArray(member) && member.length === 0));
  return Object.fromEntries(kept.map(([name, member]) => [name, dropEmptyLists(member)]));
}

test("whatever is no protobuf message is refused and never throws anything else", () => {
  const whole = writeMessage(encodeTraces([RICH_SPAN]), REQUESTS.traces);
  for (let length = 1; length < whole.length; length += 1) {
    try {
      readMessage(whole.subarray(0, length), REQUESTS.traces);
    } catch (error) {
      expect(error).toBeInstanceOf(ProtobufError);
    }
  }
  for (let at = 0; at < whole.length; at += 1) {
    const damaged = Uint8Array.from(whole);
    damaged[at] = (damaged[at] as number) ^ 0xff;
    try {
      readMessage(damaged, REQUESTS.traces);
    } catch (error) {
      expect(error).toBeInstanceOf(ProtobufError);
    }
  }
});

test("a message of few bytes and many values is refused before it fills the memory", () => {
  // One resource with 1.5 million empty attributes.
  const attributes = Buffer.alloc(3_000_000);
  for (let at = 0; at < attributes.length; at += 2) attributes[at] = 0x0a;
  const lengthOf = (bytes: number): number[] =>
    bytes < 128 ? [bytes] : [(bytes & 127) | 128, ...lengthOf(bytes >>> 7)];
  const resource = Buffer.concat([Buffer.from([0x0a, ...lengthOf(attributes.length)]), attributes]);
  const request = Buffer.concat([Buffer.from([0x0a, ...lengthOf(resource.length)]), resource]);
  expect(() => readMessage(request, REQUESTS.traces)).toThrow("more than 500000 values");
});

test("a message that is nested too deep is refused", () => {
  let value: object = { stringValue: "inside" };
  for (let depth = 0; depth < 40; depth += 1) value = { arrayValue: { values: [value] } };
  const bytes = writeMessage({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: value }] }] }] }, REQUESTS.logs);
  expect(() => readMessage(bytes, REQUESTS.logs)).toThrow("nested deeper");
});
