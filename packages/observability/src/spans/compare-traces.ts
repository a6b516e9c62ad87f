import { attributeOf, textOfValue } from "../query/attributes.ts";
import { durationMs, type SpanRecord } from "../telemetry-records.ts";
import { buildSpanForest, type SpanNode } from "./span-tree.ts";
import { spanStatusOf } from "./trace-match.ts";

const MAX_ROWS = 10_000;
/**
 * Maximum length of all paths together, in characters. The limit is needed because each row repeats the names of all
 * spans above it.
 */
const MAX_PATH_CHARACTERS = 4 * 1024 * 1024;
/** Durations count as the `same` if they differ by less than 1 % or by less than 50 microseconds. */
const SAME_SHARE = 0.01;
const SAME_MS = 0.05;

interface Side {
  readonly span_id: string;
  readonly duration_ms: number | null;
  readonly status: "ok" | "error" | "pending";
  /** Code of the error or of the HTTP response; null if the span has none. */
  readonly code: string | null;
}

export interface ComparedRow {
  /**
   * For each span from the root down, a text of its service and name. If siblings have the same name, `#2` and so on is
   * added.
   */
  readonly path: readonly string[];
  readonly a: Side | null;
  readonly b: Side | null;
  readonly delta_ms: number | null;
  /** Kind of the difference. `outcome` means that the status or the code differs, independent of the durations. */
  readonly change: "added" | "removed" | "outcome" | "slower" | "faster" | "same";
}

interface Pair {
  readonly path: readonly string[];
  readonly a: SpanNode | undefined;
  readonly b: SpanNode | undefined;
}

/**
 * Compares two traces. Two spans form a pair if they have the same service, the same name, and the same position among
 * siblings of that name.
 */
export function compareTraces(
  a: readonly SpanRecord[],
  b: readonly SpanRecord[],
): { readonly rows: ComparedRow[]; readonly truncated: boolean } {
  const rows: ComparedRow[] = [];
  let characters = 0;
  const waiting = pairsOf([], buildSpanForest(a).roots, buildSpanForest(b).roots).reverse();
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    characters += pair.path.reduce((sum, name) => sum + name.length, 0);
    if (rows.length >= MAX_ROWS || characters > MAX_PATH_CHARACTERS) return { rows, truncated: true };
    rows.push(rowOf(pair));
    waiting.push(...pairsOf(pair.path, pair.a?.children ?? [], pair.b?.children ?? []).reverse());
  }
  return { rows, truncated: false };
}

function pairsOf(path: readonly string[], a: readonly SpanNode[], b: readonly SpanNode[]): Pair[] {
  const left = named(a);
  const right = named(b);
  return [...new Set([...left.keys(), ...right.keys()])].map((name) => ({
    path: [...path, name],
    a: left.get(name),
    b: right.get(name),
  }));
}

function named(siblings: readonly SpanNode[]): Map<string, SpanNode> {
  const seen = new Map<string, number>();
  const byName = new Map<string, SpanNode>();
  for (const node of siblings) {
    const name = `${node.span.resource.service} ${node.span.name}`;
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    byName.set(number === 1 ? name : `${name} #${number}`, node);
  }
  return byName;
}

function rowOf({ path, a, b }: Pair): ComparedRow {
  const left = sideOf(a);
  const right = sideOf(b);
  const delta = left?.duration_ms == null || right?.duration_ms == null ? null : right.duration_ms - left.duration_ms;
  return { path, a: left, b: right, delta_ms: delta, change: changeOf(left, right, delta) };
}

function sideOf(node: SpanNode | undefined): Side | null {
  if (node === undefined) return null;
  const { spanId, startUnixNano, endUnixNano } = node.span;
  return {
    span_id: spanId,
    duration_ms: endUnixNano === undefined ? null : durationMs(startUnixNano, endUnixNano),
    status: spanStatusOf(node.span),
    code: codeOf(node.span),
  };
}

const CODES = ["svc.error.code", "error.type", "http.response.status_code"];

function codeOf({ attributes, events }: SpanRecord): string | null {
  for (const key of CODES) {
    const value = attributeOf(attributes, key);
    if (value !== undefined) return textOfValue(value);
  }
  const exception = events.find(({ name }) => name === "exception");
  const type = exception === undefined ? undefined : attributeOf(exception.attributes, "exception.type");
  return type === undefined ? null : textOfValue(type);
}

function changeOf(a: Side | null, b: Side | null, delta: number | null): ComparedRow["change"] {
  if (a === null) return "added";
  if (b === null) return "removed";
  if (a.status !== b.status || a.code !== b.code) return "outcome";
  if (delta === null || Math.abs(delta) <= Math.max(SAME_MS, SAME_SHARE * (a.duration_ms ?? 0))) return "same";
  return delta > 0 ? "slower" : "faster";
}
