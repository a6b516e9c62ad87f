import type { SpanKind } from "./span.ts";
import type { TraceContext } from "./trace-context.ts";

/** Content of a span. */
export interface SpanRecord {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly functionId: string | undefined;
  readonly invocationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly attributes: Map<string, unknown>;
  readonly events: SpanEvent[];
  droppedEvents: number;
  droppedAttributes: number;
  /** End of the span, in milliseconds since 1970. It is set when the span ends. */
  endMs: number;
  /** The value that the span's body threw. Undefined if it did not throw. */
  failure: { readonly thrown: unknown } | undefined;
}

interface SpanEvent {
  readonly name: string;
  readonly timeMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Maximum number of events of a span. */
export const MAX_EVENTS = 128;
/** Maximum number of attributes of a span, of an event and of a log entry. */
export const MAX_ATTRIBUTES = 128;
/** Maximum length of a span's and an event's name, in characters. */
export const MAX_NAME_CHARS = 1024;
