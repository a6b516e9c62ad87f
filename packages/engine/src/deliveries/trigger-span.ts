import { CallError } from "@svc-runtime/protocol";
import type { ActiveSpan, AttributeValue, SpanStart, Telemetry } from "../kernel/telemetry-contract.ts";

/** The event sources for which modules call functions. */
export type Source = "http" | "cron" | "event" | "queue" | "state" | "stream" | "console";

/**
 * Adds the attributes that every span of a delivery has, its source and its trigger, to `attributes`. Changes and
 * returns `attributes`, because a copy by spreading takes several microseconds.
 */
export function addTrigger(
  attributes: Record<string, AttributeValue | undefined>,
  source: Source,
  trigger?: { readonly type: string; readonly id: string },
): Record<string, AttributeValue | undefined> {
  attributes["svc.source"] = source;
  attributes["svc.trigger.type"] = trigger?.type;
  attributes["svc.trigger.id"] = trigger?.id;
  return attributes;
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
