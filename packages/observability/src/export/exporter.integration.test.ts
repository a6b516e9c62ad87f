import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Attributes, systemClock } from "@svc-runtime/engine/module";
import { afterEach, expect, test, vi } from "vitest";
import { type ObservabilityConfig, observabilityConfigSchema } from "../config.ts";
import { readMessage } from "../otlp/protobuf.ts";
import { REQUESTS } from "../otlp/schema.ts";
import { CollectedTelemetry } from "../otlp/testing/collected-telemetry.ts";
import { someLog, someMetric, someSpan } from "../otlp/testing/records.ts";
import { collectorAddress } from "./collector-address.ts";
import { ExportQueue, type SendResult } from "./export-queue.ts";
import { Exporter } from "./exporter.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const action of undo.splice(0).reverse()) await action();
});

interface Collector {
  readonly port: number;
  readonly telemetry: CollectedTelemetry;
  readonly requests: IncomingMessage[];
  server: Server;
}

/** A collector for OTLP/HTTP, with the responses of `answer`. */
async function collector(
  port = 0,
  answer: ((request: IncomingMessage) => { status: number; body?: string } | "hang" | "cut") | undefined = undefined,
): Promise<Collector> {
  const telemetry = new CollectedTelemetry();
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const given = answer?.(request) ?? { status: 200 };
      if (given === "hang") return;
      if (given === "cut") {
        request.socket.destroy();
        return;
      }
      const signal = request.url?.split("/").at(-1) as "traces" | "logs" | "metrics";
      const body = Buffer.concat(chunks);
      const isJson = request.headers["content-type"] === "application/json";
      if (given.status === 200 && given.body === undefined)
        telemetry.decode(signal, isJson ? JSON.parse(body.toString()) : readMessage(body, REQUESTS[signal]));
      response.writeHead(given.status).end(given.body ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, telemetry, requests, server };
}

function exporter(
  port: number,
  more: Record<string, unknown> = {},
): { readonly sender: Exporter; readonly dropped: CollectedTelemetry } {
  const dropped = new CollectedTelemetry();
  const config: ObservabilityConfig = observabilityConfigSchema.parse({
    exporter: "both",
    endpoint: `http://127.0.0.1:${port}`,
    protocol: "http/protobuf",
    logs_flush_interval_ms: 100,
    ...more,
  });
  const sender = new Exporter({
    config,
    clock: systemClock,
    drops: dropped.drops,
    metrics: () => [someMetric()],
    show: masked,
  });
  undo.push(() => sender.stop());
  return { sender, dropped };
}

/** Masks attributes named `secret`. */
function masked(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, key === "secret" ? "***" : value]));
}

async function until(isSo: () => boolean, ms = 25_000): Promise<void> {
  const end = performance.now() + ms;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resolves when a span and a log entry have arrived. A stop waits 2 s only, and the first request loads the sender. */
function firstOf(telemetry: CollectedTelemetry): Promise<void> {
  return until(() => telemetry.ended.length > 0 && telemetry.logRecords.length > 0);
}

test.each(["http/protobuf", "http/json"] as const)(
  "spans, logs and metrics reach a collector by %s, with the configured headers",
  async (protocol) => {
    const { port, telemetry, requests } = await collector();
    const { sender } = exporter(port, { protocol, headers: { authorization: "Bearer abc" } });
    sender.ended(someSpan());
    sender.add(someLog());
    await firstOf(telemetry);
    await sender.stop();
    expect([telemetry.ended.length, telemetry.logRecords.length, telemetry.metricRecords.length]).toEqual([1, 1, 1]);
    expect(telemetry.ended[0]).toMatchObject({
      traceId: someSpan().traceId,
      startUnixNano: someSpan().startUnixNano,
      kind: "server",
    });
    expect(telemetry.ended[0]?.resource.service).toBe("math-worker");
    expect(requests.every(({ headers }) => headers.authorization === "Bearer abc")).toBe(true);
    expect(
      sender.states.every(({ state, sent, queued_bytes }) => state === "ok" && sent === 1 && queued_bytes === 0),
    ).toBe(true);
  },
);

test("nothing that is to be hidden leaves the engine", async () => {
  const { port, telemetry } = await collector();
  const { sender } = exporter(port);
  sender.ended(
    someSpan({
      attributes: { secret: "a" },
      events: [{ name: "svc.input", timeUnixNano: 1n, attributes: { secret: "b" } }],
    }),
  );
  sender.add(someLog({ attributes: { secret: "c" } }));
  await firstOf(telemetry);
  await sender.stop();
  const [span] = telemetry.ended;
  expect([
    span?.attributes.secret,
    span?.events[0]?.attributes.secret,
    telemetry.logRecords[0]?.attributes.secret,
  ]).toEqual(["***", "***", "***"]);
});

test("what ended while the collector was away arrives once it is back, in order and nothing twice (L-4)", async () => {
  const first = await collector();
  const { sender, dropped } = exporter(first.port);
  sender.ended(someSpan({ name: "before" }));
  await until(() => first.telemetry.ended.length === 1);
  first.server.closeAllConnections();
  await new Promise((resolve) => first.server.close(resolve));
  for (let at = 0; at < 3_000; at += 1) sender.ended(someSpan({ name: `during ${at}` }));
  await until(() => sender.states[0]?.queued === 3_000);
  const second = await collector(first.port);
  await until(() => second.telemetry.ended.length === 3_000);
  expect(second.telemetry.ended.map(({ name }) => name)).toEqual(
    Array.from({ length: 3_000 }, (_, at) => `during ${at}`),
  );
  expect(dropped.counts.size).toBe(0);
  await until(() => sender.states[0]?.queued === 0);
  expect(sender.states[0]).toMatchObject({ state: "ok", queued: 0, queued_bytes: 0, sent: 3_001 });
});

test("a stop ends after 2 s although the collector hangs, and counts what was left (L-5)", async () => {
  const { port, requests } = await collector(0, () => "hang");
  const { sender, dropped } = exporter(port, { metrics_enabled: false });
  for (let at = 0; at < 300; at += 1) sender.ended(someSpan());
  sender.add(someLog());
  await until(() => requests.length === 2);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  undo.push(() => vi.useRealTimers());
  let isStopped = false;
  const stopped = sender.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_999);
  expect(isStopped).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isStopped).toBe(true);
  await stopped;
  expect(dropped.counts.get("spans shutdown")).toBe(300);
  expect(dropped.counts.get("logs shutdown")).toBe(1);
});

test("a stop ends although the collector is down", async () => {
  const { port, server } = await collector();
  await new Promise((resolve) => server.close(resolve));
  const { sender } = exporter(port);
  sender.ended(someSpan());
  await sender.stop();
});

test("what a collector will never take is dropped and counted, and what comes after it is sent", async () => {
  let count = 0;
  const { port, telemetry } = await collector(0, () => {
    count += 1;
    return count === 1 ? { status: 400, body: "no such thing" } : { status: 200 };
  });
  const { sender, dropped } = exporter(port, { metrics_enabled: false });
  sender.ended(someSpan({ name: "bad" }));
  await until(() => dropped.counts.get("spans export_refused") === 1);
  expect(sender.states[0]).toMatchObject({ state: "retrying", last_error: expect.stringContaining("400") });
  sender.ended(someSpan({ name: "good" }));
  await until(() => telemetry.ended.length === 1);
  expect(telemetry.ended[0]?.name).toBe("good");
});

test("what a collector refuses of a request is counted; an answer that is none is not minded", async () => {
  const answers = ['{"partialSuccess":{"rejectedSpans":"1","errorMessage":"one too old"}}', "<html>"];
  const { port } = await collector(0, () => ({ status: 200, body: answers.shift() ?? "" }));
  const { sender, dropped } = exporter(port, { protocol: "http/json", metrics_enabled: false });
  sender.ended(someSpan());
  sender.ended(someSpan());
  await until(() => dropped.counts.get("spans export_rejected") === 1);
  sender.ended(someSpan());
  await until(() => sender.states[0]?.sent === 2);
});

test("the queue is bounded by bytes: the oldest are dropped and counted", async () => {
  const dropped = new CollectedTelemetry();
  const sent: number[] = [];
  let answer: SendResult = { kind: "retry", message: "away" };
  const queue = new ExportQueue<number>({
    signal: "spans",
    sizeOf: () => 100,
    maxBytes: 1_000,
    batchSize: 2,
    flushMs: 1,
    openSender: async () => ({
      send: async (records) => {
        if (answer.kind === "sent") sent.push(...records);
        return answer;
      },
      close: () => {},
    }),
    drops: dropped.drops,
    clock: systemClock,
  });
  for (let at = 0; at < 1_000; at += 1) queue.add(at);
  expect(queue.state.queued_bytes).toBeLessThanOrEqual(1_000);
  answer = { kind: "sent", rejected: 0 };
  await until(() => queue.state.queued === 0);
  await queue.stop(100);
  expect(sent.slice(-8)).toEqual([992, 993, 994, 995, 996, 997, 998, 999]);
  expect(dropped.counts.get("spans export_queue_full")).toBe(1_000 - sent.length);
  expect(queue.state.queued_bytes).toBe(0);
});

test("the endpoint's port says the protocol, and HTTP gets the path of each signal", () => {
  const address = (endpoint: string, protocol?: "grpc" | "http/json") => {
    const { url, protocol: chosen } = collectorAddress({ endpoint, protocol, headers: {} }, "traces");
    return `${chosen} ${url}`;
  };
  expect(address("http://localhost:4317")).toBe("grpc localhost:4317");
  expect(address("http://localhost:4318")).toBe("http/protobuf http://localhost:4318/v1/traces");
  expect(address("https://otel.example", "grpc")).toBe("grpc otel.example:4317");
  expect(address("https://otel.example/base/", "http/json")).toBe("http/json https://otel.example/base/v1/traces");
  expect(address("https://otel.example/v1/traces", "http/json")).toBe("http/json https://otel.example/v1/traces");
});
