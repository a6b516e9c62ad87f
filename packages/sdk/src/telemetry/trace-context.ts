import { randomHex } from "./random-hex.ts";

/** W3C Trace Context: https://www.w3.org/TR/trace-context/ */
export interface TraceContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Headers that calls pass on to the called function. */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

// Form of a traceparent. Future versions may have more fields after these four. The version `ff` is invalid.
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Parses a traceparent. Returns undefined if it is invalid. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const found = text === undefined ? null : TRACEPARENT.exec(text);
  if (found === null) return undefined;
  const [, traceId = "", spanId = "", flags = "0"] = found;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** Returns a child of `parent`, or the root of a new trace. */
export function childOf(parent: TraceContext | undefined): TraceContext {
  return { traceId: parent?.traceId ?? randomHex(16), spanId: randomHex(8), sampled: parent?.sampled ?? true };
}
