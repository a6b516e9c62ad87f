import type { Signal } from "../../../kernel/telemetry-contract.ts";
import { asObject } from "./values.ts";

const LISTS: Readonly<Record<Signal, readonly [resources: string, scopes: string, records: string]>> = {
  traces: ["resourceSpans", "scopeSpans", "spans"],
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
};

/** Throws SyntaxError where what holds the records is no list: else none would be found, and the sender be told that all is well. */
export function checkShape(signal: Signal, body: unknown): void {
  const [resources, scopes, records] = LISTS[signal];
  for (const [at, ofResource] of listOf(body, resources, "").entries()) {
    const path = `${resources}[${at}].`;
    for (const [index, ofScope] of listOf(ofResource, scopes, path).entries()) listOf(ofScope, records, `${path}${scopes}[${index}].`);
  }
}

function listOf(parent: unknown, name: string, path: string): readonly unknown[] {
  const value = asObject(parent)?.[name];
  // Left out, or written as null, where there is none.
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new SyntaxError(`\`${path}${name}\` must be a list, and is ${typeof value === "object" ? "an object" : `a ${typeof value}`}`);
  return value;
}
