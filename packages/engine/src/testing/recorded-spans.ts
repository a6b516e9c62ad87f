import { randomBytes } from "node:crypto";
import { z } from "zod";
import { defineModule } from "../kernel/module.ts";
import type {
  ActiveSpan,
  Attributes,
  AttributeValue,
  SpanStart,
  TelemetryCollector,
} from "../kernel/telemetry-contract.ts";

/** An ended span. */
export interface RecordedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly start: SpanStart | undefined;
  readonly attributes: Attributes;
  /** Code of the error, or its message. */
  readonly error: string | undefined;
}

/** A module that collects spans of modules and calls, and creates a span for each call, like svc-observability. */
export function recordedSpans() {
  const ended: RecordedSpan[] = [];
  const waiting = new Set<() => void>();

  function begin(name: string, traceparent: string | undefined, start?: SpanStart): ActiveSpan {
    const [, traceId = randomBytes(16).toString("hex"), parentSpanId] = traceparent?.split("-") ?? [];
    const spanId = randomBytes(8).toString("hex");
    const attributes: Record<string, AttributeValue> = {};
    const given = typeof start?.attributes === "function" ? start.attributes() : start?.attributes;
    for (const [key, value] of Object.entries(given ?? {})) if (value !== undefined) attributes[key] = value;
    let isOver = false;
    return {
      traceparent: `00-${traceId}-${spanId}-01`,
      setAttribute(key, value) {
        attributes[key] = value;
      },
      end({ error } = {}) {
        if (isOver) return;
        isOver = true;
        ended.push({
          name,
          traceId,
          spanId,
          parentSpanId,
          start,
          attributes,
          error: typeof error === "object" ? error.code : error,
        });
        for (const check of [...waiting]) check();
      },
    };
  }

  const collector: TelemetryCollector = {
    callStarted({ functionId, traceparent }) {
      const span = begin(`call ${functionId}`, traceparent);
      return {
        traceparent: span.traceparent as string,
        ended: (outcome) => span.end(outcome.ok ? {} : { error: outcome.error }),
      };
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
  /** Resolves with the first ended span with this name. */
  async function span(name: string): Promise<RecordedSpan> {
    for (;;) {
      const found = ended.find((one) => one.name === name);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const check = (): void => {
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
      });
    }
  }
  return { module, ended, span };
}
