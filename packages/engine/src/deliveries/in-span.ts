import { CallError } from "@svc/protocol";
import type { ActiveSpan, SpanStart, Telemetry } from "../kernel/telemetry-contract.ts";

/** The occasions that modules call functions for. */
export type Source = "http" | "cron" | "event" | "queue" | "state" | "stream" | "console";

/** What every span of a firing tells: the occasion, and which trigger. */
export function occasion(source: Source, trigger?: { readonly type: string; readonly id: string }) {
  return { "svc.source": source, "svc.trigger.type": trigger?.type, "svc.trigger.id": trigger?.id };
}

/** Runs `work` in a span of its own, which ends with its outcome. `work` passes the span's `traceparent` on to what it calls. */
export async function inSpan<Result>(
  telemetry: Pick<Telemetry, "startSpan">,
  start: SpanStart,
  work: (span: Pick<ActiveSpan, "traceparent" | "setAttribute">) => Promise<Result>,
): Promise<Result> {
  const span = telemetry.startSpan(start);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (thrown) {
    span.end({ error: CallError.from(thrown) });
    throw thrown;
  }
}
