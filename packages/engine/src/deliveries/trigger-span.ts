import { CallError } from "@svc-runtime/protocol";
import type { ActiveSpan, SpanStart, Telemetry } from "../kernel/telemetry-contract.ts";

/** The event sources for which modules call functions. */
export type Source = "http" | "cron" | "event" | "queue" | "state" | "stream" | "console";

/** Attributes of every span of a delivery: the source and the trigger. */
export function triggerAttributes(source: Source, trigger?: { readonly type: string; readonly id: string }) {
  return { "svc.source": source, "svc.trigger.type": trigger?.type, "svc.trigger.id": trigger?.id };
}

/**
 * Runs `work` in its own span, which ends with the outcome of `work`. `work` passes the span's `traceparent` to the
 * functions it calls.
 */
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
