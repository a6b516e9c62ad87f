import { Agent as PlainAgent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http";
import { createEmptyMetadata, createInsecureCredentials, createOtlpGrpcExportDelegate, createSslCredentials } from "@opentelemetry/otlp-grpc-exporter-base";
import type { Signal } from "../../../kernel/telemetry-contract.ts";
import { readMessage, writeMessage } from "../otlp/protobuf.ts";
import { REJECTED, REQUESTS, RESPONSES } from "../otlp/schema.ts";
import type { CollectorAddress } from "./collector.ts";
import type { Sender, SendResult } from "./export-queue.ts";

/** How long one request may take, with the tries that the library makes again by itself, in milliseconds. */
const TIMEOUT_MS = 10_000;
const SERVICES: Readonly<Record<Signal, readonly [name: string, path: string]>> = {
  traces: ["TraceExportService", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"],
  logs: ["LogsExportService", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"],
  metrics: ["MetricsExportService", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"],
};
/** Of gRPC: cancelled, deadline, aborted, out of range, unavailable, data loss. The specification of OTLP has these tried again. */
const RETRYABLE: ReadonlySet<number> = new Set([1, 4, 10, 11, 14, 15]);
/** Overloaded, or too large a message: only the latter stays so. */
const RESOURCE_EXHAUSTED = 8;
const LAST_GRPC_CODE = 16;

/** The library counts for metrics of its own, which nobody collects here. */
const LIBRARY_METRICS = { name: "span" as const, countItems: (records: readonly unknown[]) => records.length };

type Encode<T> = (records: readonly T[]) => object;
type Delegate<T> = ReturnType<typeof createOtlpHttpExportDelegate<readonly T[], number>>;

/** Sends by OpenTelemetry's own libraries: they bring the transports, compression and tries within one request. */
export function openSender<T>(address: CollectorAddress, encode: Encode<T>): Sender<T> {
  let rejected = 0;
  const { signal, protocol } = address;
  const serializer = {
    serializeRequest: (records: readonly T[]): Uint8Array => {
      const request = encode(records);
      return protocol === "http/json" ? Buffer.from(JSON.stringify(request)) : writeMessage(request, REQUESTS[signal]);
    },
    deserializeResponse: (bytes: Uint8Array): number => {
      rejected = rejectedBy(bytes, signal, protocol === "http/json");
      return rejected;
    },
  };
  const { delegate, cut } = protocol === "grpc" ? overGrpc(address, serializer) : overHttp(address, serializer);
  return {
    send: (records) =>
      new Promise((resolve) => {
        rejected = 0;
        delegate.export(records, ({ error }) => resolve(error === undefined ? { kind: "sent", rejected } : verdictOn(error)));
      }),
    close() {
      cut();
      // Ends with the request in hand, if there is one.
      delegate.shutdown().catch(() => {});
    },
  };
}

interface Serializer<T> {
  serializeRequest(records: readonly T[]): Uint8Array;
  deserializeResponse(bytes: Uint8Array): number;
}

interface Connected<T> {
  readonly delegate: Delegate<T>;
  readonly cut: () => void;
}

function overHttp<T>({ url, isTls, protocol, headers }: CollectorAddress, serializer: Serializer<T>): Connected<T> {
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true });
  const contentType = protocol === "http/json" ? "application/json" : "application/x-protobuf";
  let isCut = false;
  const options = {
    url,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 1,
    compression: "none" as const,
    async headers() {
      if (isCut) throw new Error("the engine stops");
      return { ...headers, "content-type": contentType };
    },
    agentFactory: () => agent,
    userAgent: "svc-engine",
  };
  return {
    delegate: createOtlpHttpExportDelegate(options, serializer, "otlp_http_exporter", LIBRARY_METRICS, undefined),
    cut() {
      isCut = true;
      agent.destroy();
    },
  };
}

function overGrpc<T>({ url, isTls, headers, signal }: CollectorAddress, serializer: Serializer<T>): Connected<T> {
  const [name, path] = SERVICES[signal];
  const options = {
    url,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 1,
    compression: "none" as const,
    credentials: isTls ? () => createSslCredentials() : () => createInsecureCredentials(),
    metadata() {
      const metadata = createEmptyMetadata();
      for (const [key, value] of Object.entries(headers)) metadata.set(key.toLowerCase(), value);
      return metadata;
    },
    userAgent: "svc-engine",
  };
  return {
    delegate: createOtlpGrpcExportDelegate(options, serializer, "otlp_grpc_exporter", LIBRARY_METRICS, undefined, name, path),
    cut: () => {},
  };
}

/** How many a collector says it refused. An answer that cannot be read says nothing about that. */
function rejectedBy(bytes: Uint8Array, signal: Signal, isJson: boolean): number {
  if (bytes.length === 0) return 0;
  try {
    const answer = isJson ? (JSON.parse(Buffer.from(bytes).toString("utf8")) as Record<string, unknown>) : readMessage(bytes, RESPONSES[signal]);
    const partial = answer.partialSuccess as Readonly<Record<string, unknown>> | undefined;
    const count = Number(partial?.[REJECTED[signal]] ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

/** The library tells a number where the collector answered: of HTTP its status, of gRPC its code. What it would have tried again has none over HTTP. */
function verdictOn(error: Error & { readonly code?: unknown }): SendResult {
  const { code, message } = error;
  const told = message === "" ? `the collector answered ${String(code)}` : message;
  if (typeof code !== "number") return { kind: typeof code === "string" && !NETWORK_ERROR.test(code) ? "odd" : "retry", message: told };
  if (code > LAST_GRPC_CODE) return { kind: "refused", message: `${code} ${told}` };
  if (RETRYABLE.has(code)) return { kind: "retry", message: told };
  return { kind: code === RESOURCE_EXHAUSTED ? "odd" : "refused", message: told };
}

/** As the system names them, e.g. ECONNREFUSED. */
const NETWORK_ERROR = /^E[A-Z]+$/;
