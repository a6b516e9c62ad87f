import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeLogs, encodeMetrics, encodeTraces } from "./encode.ts";
import { Ingest } from "./ingest.ts";
import { readMessage, writeMessage } from "./protobuf.ts";
import { OtlpReceiver } from "./receiver.ts";
import { REQUESTS, RESPONSES } from "./schema.ts";
import { CollectedTelemetry } from "./testing/collected-telemetry.ts";
import { someLog, someMetric, someSpan } from "./testing/records.ts";

let telemetry: CollectedTelemetry;
let ingest: Ingest;
let receiver: OtlpReceiver;
let server: Server;
let base: string;

beforeEach(async () => {
  telemetry = new CollectedTelemetry();
  ingest = new Ingest(telemetry);
  receiver = new OtlpReceiver({ ingest, directory: { workerById: () => undefined }, drops: telemetry.drops });
  server = createServer((request, response) => void receiver.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  ingest.stop(0);
});

const JSON_TYPE = { "content-type": "application/json" };
const PROTOBUF_TYPE = { "content-type": "application/x-protobuf" };

function post(
  path: string,
  body: string | Uint8Array<ArrayBufferLike>,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(`${base}${path}`, { method: "POST", body: body as string, headers });
}

test("all three signals are taken in both encodings, and answered in theirs", async () => {
  const bodies = {
    traces: encodeTraces([someSpan()]),
    logs: encodeLogs([someLog()]),
    metrics: encodeMetrics([someMetric()]),
  };
  for (const signal of ["traces", "logs", "metrics"] as const) {
    const asJson = await post(`/v1/${signal}`, JSON.stringify(bodies[signal]), JSON_TYPE);
    expect([asJson.status, await asJson.json()]).toEqual([200, {}]);
    const asProtobuf = await post(`/v1/${signal}`, writeMessage(bodies[signal], REQUESTS[signal]), PROTOBUF_TYPE);
    expect([asProtobuf.status, asProtobuf.headers.get("content-type")]).toEqual([200, "application/x-protobuf"]);
  }
  expect([telemetry.ended.length, telemetry.logRecords.length, telemetry.metricRecords.length]).toEqual([2, 2, 2]);
  expect(telemetry.ended[0]?.startUnixNano).toBe(telemetry.ended[1]?.startUnixNano);
});

test("a body packed with gzip is taken", async () => {
  const packed = gzipSync(JSON.stringify(encodeTraces([someSpan()])));
  expect((await post("/v1/traces", packed, { ...JSON_TYPE, "content-encoding": "gzip" })).status).toBe(200);
  expect(telemetry.ended).toHaveLength(1);
});

test("records that are refused are counted in the answer, and the rest is taken (L-6)", async () => {
  const body = encodeTraces([someSpan(), someSpan({ traceId: "0".repeat(32) })]);
  const asJson = await post("/v1/traces", JSON.stringify(body), JSON_TYPE);
  expect(await asJson.json()).toEqual({
    partialSuccess: { rejectedSpans: "1", errorMessage: "1 records were malformed" },
  });
  const asProtobuf = await post("/v1/traces", writeMessage(body, REQUESTS.traces), PROTOBUF_TYPE);
  const answer = readMessage(new Uint8Array(await asProtobuf.arrayBuffer()), RESPONSES.traces);
  expect(answer.partialSuccess).toMatchObject({ rejectedSpans: "1" });
  expect(receiver.counts).toEqual({ accepted: 2, refused: 2 });
});

test("what is no OTLP is refused with the status that OTLP has for it", async () => {
  const statuses = [
    await post("/v1/traces", "{", JSON_TYPE),
    await post("/v1/traces", "[]", JSON_TYPE),
    await post("/v1/traces", Buffer.from([0xff, 0xff, 0xff]), PROTOBUF_TYPE),
    await post("/v1/traces", "{}", { "content-type": "text/plain" }),
    await post("/v1/traces", "{}", { ...JSON_TYPE, "content-encoding": "br" }),
    await post("/v1/traces", "no gzip", { ...JSON_TYPE, "content-encoding": "gzip" }),
    await post("/v1/profiles", "{}", JSON_TYPE),
    await fetch(`${base}/v1/traces`),
  ].map(({ status }) => status);
  expect(statuses).toEqual([400, 400, 400, 415, 415, 400, 404, 405]);
  expect(telemetry.ended).toHaveLength(0);
  // An exporter continues after a refused request.
  expect((await post("/v1/traces", JSON.stringify(encodeTraces([someSpan()])), JSON_TYPE)).status).toBe(200);
});

test("a body that unpacks to far more than it is, is refused before it is unpacked (K13)", async () => {
  const bomb = gzipSync(Buffer.alloc(512 * 1024 * 1024), { level: 9 });
  const before = process.memoryUsage().rss;
  expect((await post("/v1/traces", bomb, { ...JSON_TYPE, "content-encoding": "gzip" })).status).toBe(413);
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
});

test("a body over 16 MiB is refused by what its head says", async () => {
  const answer = await post("/v1/traces", Buffer.alloc(17 * 1024 * 1024, 0x20), JSON_TYPE).catch(
    (error: unknown) => error as Error,
  );
  // A client that is still sending may only see that the connection ends.
  if (answer instanceof Response) expect(answer.status).toBe(413);
  else expect(String(answer)).toContain("fetch failed");
  expect(telemetry.counts.get("spans receiver_413")).toBe(1);
});

test("few bytes that would take much memory are refused (K13)", async () => {
  const answer = await post("/v1/traces", `{"resourceSpans":[${"{},".repeat(700_000)}{}]}`, JSON_TYPE);
  expect(answer.status).toBe(413);
  expect(telemetry.counts.get("spans too_much")).toBe(1);
});

test("while there is no room, senders are asked to come again", async () => {
  ingest.stop(0);
  const answer = await post("/v1/traces", JSON.stringify(encodeTraces([someSpan()])), JSON_TYPE);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
});

test.each([
  ["/v1/traces", { resourceSpans: "x" }, "`resourceSpans` must be a list, not a string"],
  ["/v1/logs", { resourceLogs: {} }, "`resourceLogs` must be a list, not an object"],
  [
    "/v1/metrics",
    { resourceMetrics: [{}, { scopeMetrics: 5 }] },
    "`resourceMetrics[1].scopeMetrics` must be a list, not a number",
  ],
  [
    "/v1/traces",
    { resourceSpans: [{ scopeSpans: [{ spans: true }] }] },
    "`resourceSpans[0].scopeSpans[0].spans` must be a list, not a boolean",
  ],
])("what is no list where records are is refused by its name: %s %j", async (path, body, message) => {
  const answer = await post(path, JSON.stringify(body), JSON_TYPE);
  expect([answer.status, await answer.json()]).toEqual([400, { code: 3, message }]);
});
