import type { SpanRecord } from "../../telemetry-records.ts";

/** 14 November 2023, in nanoseconds. */
export const BASE = 1_700_000_000_000_000_000n;
const NANOS_PER_MS = 1_000_000n;

export function traceIdOf(number: number): string {
  return number.toString(16).padStart(32, "0");
}

export function spanIdOf(number: number): string {
  return number.toString(16).padStart(16, "0");
}

export interface SampleSpan extends Partial<Omit<SpanRecord, "traceId" | "spanId" | "parentSpanId" | "resource">> {
  readonly trace?: number;
  readonly id: number;
  readonly parent?: number;
  readonly service?: string;
  readonly workerId?: string;
  /** Milliseconds after BASE. Default: 0. */
  readonly startMs?: number;
  /** Null: the span is pending. Default: 1. */
  readonly tookMs?: number | null;
}

export function sampleSpan(span: SampleSpan): SpanRecord {
  const { trace = 1, id, parent, service = "svc", workerId, startMs = 0, tookMs = 1, ...more } = span;
  const startUnixNano = more.startUnixNano ?? BASE + BigInt(Math.round(startMs * 1e6));
  return {
    traceId: traceIdOf(trace),
    spanId: spanIdOf(id),
    parentSpanId: parent === undefined ? undefined : spanIdOf(parent),
    name: `span ${id}`,
    kind: "internal",
    startUnixNano,
    endUnixNano:
      tookMs === null ? undefined : startUnixNano + BigInt(Math.round(tookMs * 1_000)) * (NANOS_PER_MS / 1_000n),
    status: "unset",
    statusDescription: undefined,
    attributes: {},
    events: [],
    links: [],
    baggage: {},
    resource: { service, workerId, attributes: {} },
    scopeName: undefined,
    scopeVersion: undefined,
    internal: false,
    sampled: true,
    size: 500,
    ...more,
  };
}
