import { createRequire } from "node:module";
import { join } from "node:path";
import type { Active } from "../calls/async-context.ts";
import { baggageMembers } from "./baggage.ts";
import { readTraceparent, type TraceHeaders, writeTraceparent } from "./trace-context.ts";

// The members of `@opentelemetry/api` 1.x that this file uses. They are declared here, because this package does not
// depend on that one. The program may have it.
interface Context {
  readonly getValue: (key: symbol) => unknown;
}
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}
interface Baggage {
  getAllEntries(): [string, { readonly value: string; readonly metadata?: { toString(): string } }][];
}
interface Api {
  readonly ROOT_CONTEXT: Context;
  readonly context: { active(): Context; with<Result>(context: Context, body: () => Result): Result };
  readonly trace: {
    getSpanContext(context: Context): SpanContext | undefined;
    setSpanContext(context: Context, span: SpanContext): Context;
  };
  readonly propagation: {
    getBaggage(context: Context): Baggage | undefined;
    setBaggage(context: Context, baggage: Baggage): Context;
    createBaggage(entries: Readonly<Record<string, { readonly value: string; readonly metadata?: unknown }>>): Baggage;
  };
  baggageEntryMetadataFromString(text: string): unknown;
  isSpanContextValid(span: SpanContext): boolean;
}

export interface ExternalTracing {
  /** Runs `body`. Meanwhile, `next` is the parent of spans that the tracer starts. */
  run<Result>(next: Active, body: () => Result): Result;
  /**
   * Returns the trace context and baggage of the tracer's active span. Returns undefined if the span belongs to another
   * trace than `current`.
   */
  headers(current: Active | undefined): TraceHeaders | undefined;
}

/**
 * Global registry that all copies of version 1 of the package share. Its member `context` exists when the program has
 * set up a context manager.
 */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");
const registries = globalThis as { readonly [REGISTRY]?: { readonly context?: unknown } };

let found: ExternalTracing | null | undefined;

/**
 * Returns OpenTelemetry if the program has set it up. It may do so at any time, so this is checked at each call. The
 * check is fast.
 */
export function openTelemetry(): ExternalTracing | undefined {
  if (registries[REGISTRY]?.context === undefined) return undefined;
  if (found === undefined) {
    const api = loadApi();
    found = api === undefined ? null : tracingOf(api);
  }
  return found ?? undefined;
}

/**
 * Loads the package from the program. If the program does not have it, tries to load it from this package's location.
 */
function loadApi(): Api | undefined {
  for (const from of [process.argv[1], join(process.cwd(), "program.js"), import.meta.url]) {
    if (from === undefined) continue;
    try {
      return createRequire(from)("@opentelemetry/api") as Api;
    } catch {
      // The package is not installed there, so the next place is tried.
    }
  }
  return undefined;
}

function tracingOf(api: Api): ExternalTracing {
  return {
    run(next, body) {
      const trace = readTraceparent(next.traceparent);
      // A call starts with an empty context. A span of this SDK continues the active context.
      let context = next === next.activeCall ? api.ROOT_CONTEXT : api.context.active();
      if (trace !== undefined)
        context = api.trace.setSpanContext(context, { ...trace, traceFlags: Number(trace.sampled), isRemote: true });
      if (next === next.activeCall && next.baggage !== undefined)
        context = api.propagation.setBaggage(context, baggageOf(api, next.baggage));
      return api.context.with(context, body);
    },
    headers(current) {
      const context = api.context.active();
      const span = api.trace.getSpanContext(context);
      const running = readTraceparent(current?.traceparent);
      if (span === undefined || !api.isSpanContextValid(span)) {
        const baggage = baggageText(api, context);
        return baggage === undefined ? undefined : { traceparent: current?.traceparent, baggage };
      }
      if (running !== undefined && running.traceId !== span.traceId) return undefined;
      const { traceId, spanId, traceFlags } = span;
      return {
        traceparent: writeTraceparent({ traceId, spanId, sampled: (traceFlags & 1) === 1 }),
        baggage: baggageText(api, context) ?? current?.baggage,
      };
    },
  };
}

function baggageOf(api: Api, text: string): Baggage {
  const entries: Record<string, { readonly value: string; readonly metadata?: unknown }> = Object.create(null);
  for (const { name, value, properties } of baggageMembers(text)) {
    entries[name] = properties === "" ? { value } : { value, metadata: api.baggageEntryMetadataFromString(properties) };
  }
  return api.propagation.createBaggage(entries);
}

function baggageText(api: Api, context: Context): string | undefined {
  const entries = api.propagation.getBaggage(context)?.getAllEntries() ?? [];
  if (entries.length === 0) return undefined;
  return entries
    .map(
      ([name, { value, metadata }]) =>
        `${name}=${encodeURIComponent(value)}${metadata === undefined ? "" : `;${metadata.toString()}`}`,
    )
    .join();
}
