import type { Signal } from "@svc-runtime/engine/module";
import type { DecodeContext } from "./decode-context.ts";
import { decodeLogs } from "./decode-logs.ts";
import { decodeMetrics } from "./decode-metrics.ts";
import { decodeTraces } from "./decode-traces.ts";
import { asObject } from "./values.ts";

/**
 * Decodes a parsed, untrusted export request. Tolerates missing lists, nulls, and integers as numbers or strings.
 * Passes each record to its sink and then yields, so that the caller can pause: true if the record was accepted, false
 * if it was rejected. A rejected record does not affect others.
 */
export function decode(signal: Signal, body: unknown, context: DecodeContext): Generator<boolean> {
  switch (signal) {
    case "traces":
      return decodeTraces(body, context);
    case "logs":
      return decodeLogs(body, context);
    case "metrics":
      return decodeMetrics(body, context);
  }
}

const LISTS: Readonly<Record<Signal, readonly [resources: string, scopes: string, records: string]>> = {
  traces: ["resourceSpans", "scopeSpans", "spans"],
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
};

/** Throws SyntaxError if a list of records is no list: without records the sender would see a success. */
export function checkShape(signal: Signal, body: unknown): void {
  const [resources, scopes, records] = LISTS[signal];
  for (const [at, ofResource] of listOf(body, resources, "").entries()) {
    const path = `${resources}[${at}].`;
    for (const [index, ofScope] of listOf(ofResource, scopes, path).entries())
      listOf(ofScope, records, `${path}${scopes}[${index}].`);
  }
}

function listOf(parent: unknown, name: string, path: string): readonly unknown[] {
  const value = asObject(parent)?.[name];
  // A missing list or null means that there are no records.
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new SyntaxError(
      `\`${path}${name}\` must be a list, not ${typeof value === "object" ? "an object" : `a ${typeof value}`}`,
    );
  return value;
}
