import type { DropCounter, SpanRecord } from "../../model.ts";
import { decodeTraces } from "../../otlp/decode-traces.ts";

/** Spans of a line of OTLP/JSON, which is one request, and how many of it were refused; the whole line counts as one when it is no request. */
export function spansOfOtlp(
  line: string,
  { nowMs, drops }: { readonly nowMs: number; readonly drops: DropCounter },
): { readonly spans: readonly SpanRecord[]; readonly refused: number } {
  const body = jsonIn(line);
  if (typeof body !== "object" || body === null || !("resourceSpans" in body)) return { spans: [], refused: 1 };
  const spans: SpanRecord[] = [];
  const take = (span: SpanRecord): void => void spans.push(asEnded(span));
  const ignore = { add: () => {} };
  // An import is from a file: it is not known to be of any worker.
  const origin = { worker: undefined, isFrame: false, mayBeWorker: () => false };
  const nowNanos = BigInt(Math.floor(nowMs)) * 1_000_000n;
  let refused = 0;
  for (const isTaken of decodeTraces(body, { origin, spans: { started: take, ended: take }, logs: ignore, metrics: ignore, drops, nowNanos })) {
    if (!isTaken) refused += 1;
  }
  return { spans, refused };
}

/** One that had not ended when it was exported never will. */
function asEnded(span: SpanRecord): SpanRecord {
  return span.endUnixNano === undefined ? { ...span, endUnixNano: span.startUnixNano } : span;
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
