import { decodeTraces } from "../../otlp/decode-traces.ts";
import type { DropCounter, SpanRecord } from "../../telemetry-records.ts";
import { parseLine } from "../../transfer/line-channel.ts";

/**
 * Returns the spans of one OTLP/JSON request, and the number of rejected ones. An invalid line counts as one rejected
 * span.
 */
export function spansOfOtlp(
  line: string,
  { nowMs, drops }: { readonly nowMs: number; readonly drops: DropCounter },
): { readonly spans: readonly SpanRecord[]; readonly refused: number } {
  const body = parseLine(line);
  if (typeof body !== "object" || body === null || !("resourceSpans" in body)) return { spans: [], refused: 1 };
  const spans: SpanRecord[] = [];
  const take = (span: SpanRecord): void => void spans.push(asEnded(span));
  const ignore = { add: () => {} };
  // An import comes from a file, so the worker that sent the spans is unknown.
  const origin = { worker: undefined, isFrame: false, mayBeWorker: () => false };
  const nowNanos = BigInt(Math.floor(nowMs)) * 1_000_000n;
  let refused = 0;
  for (const isTaken of decodeTraces(body, {
    origin,
    spans: { started: take, ended: take },
    logs: ignore,
    metrics: ignore,
    drops,
    nowNanos,
  })) {
    if (!isTaken) refused += 1;
  }
  return { spans, refused };
}

/** Ends a span that was pending when it was exported, because no end will follow. */
function asEnded(span: SpanRecord): SpanRecord {
  return span.endUnixNano === undefined ? { ...span, endUnixNano: span.startUnixNano } : span;
}
