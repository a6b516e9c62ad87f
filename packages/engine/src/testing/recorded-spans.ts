import { randomBytes } from "node:crypto";
import { z } from "zod";
import { defineModule } from "../kernel/module.ts";
import type { ActiveSpan, Attributes, AttributeValue, SpanStart, TelemetryCollector } from "../kernel/telemetry-contract.ts";

/** A span that ended. */
export interface RecordedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly start: SpanStart | undefined;
  readonly attributes: Attributes;
  /** Code of the error, or its words. */
  readonly error: string | undefined;
}

/** A module that collects spans of modules and calls, and gives each call a span of its own, as svc-observability does. */
export function recordedSpans() {
  const ended: RecordedSpan[] = [];
  const waiting = new Set<() => void>();

  function begin(name: string, traceparent: string | undefined, start?: SpanStart): ActiveSpan {
    const [, traceId = randomBytes(16).toString("hex"), parentSpanId] = traceparent?.split("-") ?? [];
    const spanId = randomBytes(8).toString("hex");
    const attributes: Record<string, AttributeValue> = {};
    for (const [key, value] of Object.entries(start?.attributes ?? {})) if (value !== undefined) attributes[key] = value;
    let isOver = false;
    return {
      traceparent: `00-${traceId}-${spanId}-01`,
      setAttribute(key, value) {
        attributes[key] = value;
      },
      end({ error } = {}) {
        if (isOver) return;
        isOver = true;
        ended.push({ name, traceId, spanId, parentSpanId, start, attributes, error: typeof error === "object" ? error.code : error });
        for (const look of [...waiting]) look();
      },
    };
  }

  const collector: TelemetryCollector = {
    callStarted({ functionId, traceparent }) {
      const span = begin(`call ${functionId}`, traceparent);
      return { traceparent: span.traceparent as string, ended: (outcome) => span.end(outcome.ok ? {} : { error: outcome.error }) };
    },
    callRefused: () => {},
    callDenied: () => {},
    startSpan: (start) => begin(start.name, start.traceparent, start),
    log: () => {},
    ingest: () => {},
  };
  const module = defineModule({
    name: "test-spans",
    summary: "Records spans",
    config: z.object({}),
    start({ telemetry }) {
      telemetry.collect(collector);
      return { stop: () => {} };
    },
  });
  /** The first span of this name, once it has ended. */
  async function span(name: string): Promise<RecordedSpan> {
    for (;;) {
      const found = ended.find((one) => one.name === name);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const look = (): void => {
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
      });
    }
  }
  return { module, ended, span };
}
