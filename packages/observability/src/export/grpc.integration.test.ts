import { Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import { systemClock } from "@svc-runtime/engine/module";
import { afterEach, expect, test } from "vitest";
import { observabilityConfigSchema } from "../config.ts";
import { readMessage, writeMessage } from "../otlp/protobuf.ts";
import { REQUESTS, RESPONSES } from "../otlp/schema.ts";
import { CollectedTelemetry } from "../otlp/testing/collected-telemetry.ts";
import { someLog, someMetric, someSpan } from "../otlp/testing/records.ts";
import { Exporter } from "./exporter.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
});

const SERVICES = {
  traces: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
  logs: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
  metrics: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
} as const;

/** A collector based on another library: gRPC's own server. */
async function grpcCollector(options: { readonly code?: status; readonly port?: number } = {}) {
  const telemetry = new CollectedTelemetry();
  const authorizations: unknown[] = [];
  const server = new Server();
  servers.push(server);
  for (const [signal, path] of Object.entries(SERVICES) as [keyof typeof SERVICES, string][]) {
    const plain = (bytes: Buffer): Buffer => bytes;
    const definition: ServiceDefinition = {
      export: {
        path,
        requestStream: false,
        responseStream: false,
        requestDeserialize: plain,
        requestSerialize: plain,
        responseDeserialize: plain,
        responseSerialize: plain,
      },
    };
    server.addService(definition, {
      export(
        call: { request: Buffer; metadata: { get(name: string): unknown[] } },
        answer: (error: { code: status; details: string } | null, value?: Buffer) => void,
      ) {
        authorizations.push(...call.metadata.get("authorization"));
        if (options.code !== undefined) return answer({ code: options.code, details: "the tests say so" });
        telemetry.decode(signal, readMessage(call.request, REQUESTS[signal]));
        answer(null, Buffer.from(writeMessage({}, RESPONSES[signal])));
      },
    });
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${options.port ?? 0}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { telemetry, port, server, authorizations };
}

function exporter(
  port: number,
  dropped = new CollectedTelemetry(),
): { readonly sender: Exporter; readonly dropped: CollectedTelemetry } {
  const config = observabilityConfigSchema.parse({
    exporter: "otlp",
    endpoint: `http://127.0.0.1:${port}`,
    protocol: "grpc",
    headers: { Authorization: "Bearer abc" },
  });
  return {
    sender: new Exporter({
      config,
      clock: systemClock,
      drops: dropped.drops,
      metrics: () => [someMetric()],
      show: (attributes) => attributes,
    }),
    dropped,
  };
}

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("spans, logs and metrics reach a collector by gRPC, with the configured headers", async () => {
  const { port, telemetry, authorizations } = await grpcCollector();
  const { sender } = exporter(port);
  sender.ended(someSpan());
  sender.add(someLog());
  // The stop sends the metrics, and waits at most two seconds.
  await until(() => telemetry.ended.length === 1 && telemetry.logRecords.length === 1);
  await sender.stop();
  expect([telemetry.ended.length, telemetry.logRecords.length, telemetry.metricRecords.length]).toEqual([1, 1, 1]);
  expect(telemetry.ended[0]).toMatchObject({ spanId: someSpan().spanId, endUnixNano: someSpan().endUnixNano });
  expect(authorizations).toEqual(["Bearer abc", "Bearer abc", "Bearer abc"]);
});

test("a gRPC collector that was away gets everything once it is back (L-4)", async () => {
  const first = await grpcCollector();
  const { sender, dropped } = exporter(first.port);
  sender.ended(someSpan());
  await until(() => first.telemetry.ended.length === 1);
  first.server.forceShutdown();
  for (let at = 0; at < 600; at += 1) sender.ended(someSpan({ name: `${at}` }));
  await until(() => sender.states[0]?.state !== "ok");
  const second = await grpcCollector({ port: first.port });
  await until(() => sender.states[0]?.queued === 0);
  expect(second.telemetry.ended.map(({ name }) => name)).toEqual(Array.from({ length: 600 }, (_, at) => `${at}`));
  expect(dropped.counts.size).toBe(0);
  await sender.stop();
});

test("what a gRPC collector refuses for good is dropped and counted", async () => {
  const { port } = await grpcCollector({ code: status.INVALID_ARGUMENT });
  const { sender, dropped } = exporter(port);
  sender.ended(someSpan());
  await until(() => dropped.counts.get("spans export_refused") === 1);
  expect(sender.states[0]?.last_error).toContain("the tests say so");
  await sender.stop();
});
