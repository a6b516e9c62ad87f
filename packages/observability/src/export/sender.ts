import { Agent as PlainAgent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http";
import {
  createEmptyMetadata,
  createInsecureCredentials,
  createOtlpGrpcExportDelegate,
  createSslCredentials,
} from "@opentelemetry/otlp-grpc-exporter-base";
import type { Signal } from "@svc-runtime/engine/module";
import { readMessage, writeMessage } from "../otlp/protobuf.ts";
import { REJECTED, REQUESTS, RESPONSES } from "../otlp/schema.ts";
import type { CollectorAddress } from "./collector-address.ts";
import type { Sender, SendResult } from "./export-queue.ts";

/** Maximum time of one request, including the library's own retries, in milliseconds. */
const TIMEOUT_MS = 10_000;
const SERVICES: Readonly<Record<Signal, readonly [name: string, path: string]>> = {
  traces: ["TraceExportService", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"],
  logs: ["LogsExportService", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"],
  metrics: ["MetricsExportService", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"],
};
/**
 * gRPC codes that OTLP defines as retryable: cancelled, deadline exceeded, aborted, out of range, unavailable, data
 * loss.
 */
const RETRYABLE: ReadonlySet<number> = new Set([1, 4, 10, 11, 14, 15]);
/** Code for two cases: the collector is overloaded (temporary), or the message is too large (permanent). */
const RESOURCE_EXHAUSTED = 8;
const LAST_GRPC_CODE = 16;

/** The library requires a description of metrics about itself. These metrics are not collected here. */
const LIBRARY_METRICS = { name: "span" as const, countItems: (records: readonly unknown[]) => records.length };

type Encode<T> = (records: readonly T[]) => object;
type Delegate<T> = ReturnType<typeof createOtlpHttpExportDelegate<readonly T[], number>>;

/**
 * Creates a sender that uses OpenTelemetry's libraries. They implement the transports, compression, and retries within
 * one request.
 */
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
  const { delegate, abort } = protocol === "grpc" ? overGrpc(address, serializer) : overHttp(address, serializer);
  return {
    send: (records) =>
      new Promise((resolve) => {
        rejected = 0;
        delegate.export(records, ({ error }) =>
          resolve(error === undefined ? { kind: "sent", rejected } : resultOf(error)),
        );
      }),
    close() {
      abort();
      // `shutdown` resolves after the request in flight has ended, so it is not awaited.
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
  readonly abort: () => void;
}

function overHttp<T>({ url, isTls, protocol, headers }: CollectorAddress, serializer: Serializer<T>): Connected<T> {
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true });
  const contentType = protocol === "http/json" ? "application/json" : "application/x-protobuf";
  let isAborted = false;
  const options = {
    url,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 1,
    compression: "none" as const,
    async headers() {
      if (isAborted) throw new Error("the engine is stopping");
      return { ...headers, "content-type": contentType };
    },
    agentFactory: () => agent,
    userAgent: "svc-engine",
  };
  return {
    delegate: createOtlpHttpExportDelegate(options, serializer, "otlp_http_exporter", LIBRARY_METRICS, undefined),
    abort() {
      isAborted = true;
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
    delegate: createOtlpGrpcExportDelegate(
      options,
      serializer,
      "otlp_grpc_exporter",
      LIBRARY_METRICS,
      undefined,
      name,
      path,
    ),
    abort: () => {},
  };
}

/** Returns the number of records that the collector rejected; 0 if the response cannot be read. */
function rejectedBy(bytes: Uint8Array, signal: Signal, isJson: boolean): number {
  if (bytes.length === 0) return 0;
  try {
    const response = isJson
      ? (JSON.parse(Buffer.from(bytes).toString("utf8")) as Record<string, unknown>)
      : readMessage(bytes, RESPONSES[signal]);
    const partial = response.partialSuccess as Readonly<Record<string, unknown>> | undefined;
    const count = Number(partial?.[REJECTED[signal]] ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

/**
 * Converts an error of the library. Its code is the HTTP status or the gRPC code of a response. Retryable HTTP errors
 * have no code.
 */
function resultOf(error: Error & { readonly code?: unknown }): SendResult {
  const { code, message } = error;
  const text = message === "" ? `the collector responded with ${String(code)}` : message;
  if (typeof code !== "number")
    return { kind: typeof code === "string" && !NETWORK_ERROR.test(code) ? "unexpected" : "retry", message: text };
  if (code > LAST_GRPC_CODE) return { kind: "refused", message: `${code} ${text}` };
  if (RETRYABLE.has(code)) return { kind: "retry", message: text };
  return { kind: code === RESOURCE_EXHAUSTED ? "unexpected" : "refused", message: text };
}

/** System error codes, e.g. ECONNREFUSED. */
const NETWORK_ERROR = /^E[A-Z]+$/;
