import type { Signal } from "@svc-runtime/engine/module";
import type { DecodeContext } from "./decode-context.ts";
import { decodeLogs } from "./decode-logs.ts";
import { decodeMetrics } from "./decode-metrics.ts";
import { decodeTraces } from "./decode-traces.ts";
import { asObject } from "./values.ts";

/**
 * Decodes a parsed, untrusted export request. Missing lists, nulls, and integers as numbers or strings are accepted.
 * Each record is passed to its sink. After each record, the generator yields, so that the caller can pause: true if the
 * record was accepted, false if it was rejected. A rejected record does not affect others.
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

/**
 * Throws SyntaxError if a list of records is not a list. Otherwise the request would be decoded without records, and
 * the sender would see a success.
 */
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
  // A missing list or null is the same as an empty list.
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new SyntaxError(
      `\`${path}${name}\` must be a list, not ${typeof value === "object" ? "an object" : `a ${typeof value}`}`,
    );
  return value;
}
