import { createHash } from "node:crypto";
import type { Worker } from "@svc-runtime/sdk";

type Values = Readonly<Record<string, string | number | boolean>>;

/** A span as tests write it. Times in milliseconds: how long ago it started, and its duration. */
export interface KeptSpan {
  readonly id: string;
  readonly parent?: string;
  readonly name: string;
  readonly ago: number;
  readonly took: number;
  readonly service?: string;
  /** Error message of a failed span. */
  readonly failed?: string;
  readonly attributes?: Values;
  readonly events?: readonly { readonly name: string; readonly attributes?: Values }[];
  readonly links?: readonly { readonly trace: string; readonly span: string }[];
  readonly baggage?: Readonly<Record<string, string>>;
}

/** Turns readable names into valid ids. */
export function traceId(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 32);
}
export function spanId(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 16);
}

/** Stores a trace of these spans in the engine, like one that was exported earlier. */
export async function keepTrace(worker: Worker, trace: string, spans: readonly KeptSpan[]): Promise<void> {
  const nowMs = Date.now();
  const { reader, writer } = await worker.createChannel();
  const answer = worker.call<{ readonly imported: number }>({
    function_id: "engine::traces::import",
    payload: { lines: reader, format: "ndjson" },
  });
  await writer.write(
    Buffer.from(spans.map((span) => `${JSON.stringify(lineOf(span, traceId(trace), nowMs))}\n`).join("")),
  );
  await writer.end();
  const { imported } = await answer;
  if (imported !== spans.length) throw new Error(`of ${spans.length} spans the engine took ${imported}`);
}

function lineOf(span: KeptSpan, trace: string, nowMs: number): object {
  const { service = "shop", parent, failed, attributes = {}, events = [], links = [], baggage = {} } = span;
  const nano = (ms: number): string => `${BigInt(Math.round(ms * 1_000)) * 1_000n}`;
  const beganMs = nowMs - span.ago;
  return {
    trace_id: trace,
    span_id: spanId(span.id),
    parent_span_id: parent === undefined ? null : spanId(parent),
    name: span.name,
    start_time_unix_nano_text: nano(beganMs),
    end_time_unix_nano_text: nano(beganMs + span.took),
    status: failed === undefined ? "unset" : "error",
    ...(failed === undefined ? {} : { status_description: failed }),
    service_name: service,
    attributes_map: attributes,
    events: events.map(({ name, attributes: of = {} }) => ({
      name,
      timestamp_unix_nano_text: nano(beganMs + span.took / 2),
      attributes_map: of,
    })),
    links: links.map((link) => ({ trace_id: traceId(link.trace), span_id: spanId(link.span), attributes_map: {} })),
    baggage,
    resource: { "host.name": "test-host" },
  };
}
