import { plural, t } from "../labels/translate.ts";
import { duration } from "../lib/time.ts";
import type { SpanNode, TraceForest } from "./span-forest.ts";
import type { AsyncWork, TraceStatus } from "./trace-types.ts";

/**
 * Work that ends this long after the root span, in milliseconds, is asynchronous. The engine's summaries use the same
 * value.
 */
const ASYNC_AFTER_MS = 2;

/** Status and duration of a trace. They are those of its root span, as in the engine's summaries. */
export interface TraceOutcome {
  readonly status: TraceStatus;
  /** Undefined while the root span is running. */
  readonly durationMs: number | undefined;
  readonly asyncWork: AsyncWork | undefined;
}

/** Returns the outcome of a trace. Without a root span, status and duration are those of all spans together. */
export function outcomeOf(forest: TraceForest): TraceOutcome {
  const { root } = forest;
  if (root === undefined || !forest.hasRoot) {
    const status = forest.isPending ? "pending" : forest.errorCount > 0 ? "error" : "ok";
    return { status, durationMs: forest.isPending ? undefined : forest.lengthMs, asyncWork: undefined };
  }
  const { status, startMs, endMs } = root;
  if (endMs === undefined) return { status, durationMs: undefined, asyncWork: undefined };
  return { status, durationMs: endMs - startMs, asyncWork: asyncWorkOf(forest, startMs, endMs) };
}

function asyncWorkOf(forest: TraceForest, startMs: number, endMs: number): AsyncWork | undefined {
  if (!forest.isPending && forest.lengthMs <= endMs + ASYNC_AFTER_MS) return undefined;
  return {
    until_ms: forest.isPending ? null : forest.lengthMs - startMs,
    errors: forest.nodes.filter((node) => node.status === "error" && (node.endMs ?? 0) > endMs + ASYNC_AFTER_MS).length,
  };
}

/**
 * Returns the span that failed first. Its callers fail later, because its error reaches them. Returns undefined if no
 * span failed.
 */
export function firstFailure(forest: TraceForest): SpanNode | undefined {
  const failed = forest.nodes.filter(({ status, span }) => status === "error" && span !== undefined);
  return failed.reduce<SpanNode | undefined>((first, node) => {
    if (first === undefined) return node;
    const difference = (node.endMs ?? node.startMs) - (first.endMs ?? first.startMs);
    return difference < 0 || (difference === 0 && node.depth > first.depth) ? node : first;
  }, undefined);
}

/** Describes asynchronous work, for example `until +1.6 s, 1 error`. */
export function asyncWorkText({ until_ms, errors }: AsyncWork): string {
  const end = until_ms === null ? t`still running` : `until +${duration(until_ms)}`;
  return errors === 0 ? end : plural(errors, "{0}, # error", "{0}, # errors", end);
}
