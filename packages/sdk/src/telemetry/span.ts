/** Numbers that OTLP uses for the kinds of spans. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;

export type SpanKind = keyof typeof SPAN_KINDS;

export interface SpanOptions {
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** Default `internal`. */
  readonly kind?: SpanKind | undefined;
}

/** A named part of a call, or of work outside of any call. Traces show it with its duration. */
export interface Span {
  /** W3C trace context. Children of this span use it as their parent. */
  readonly traceparent: string;
  /**
   * Sets an attribute to a JSON value. A span has at most 128 attributes, 32 KiB in total. If a name is set again, the
   * last value is used.
   */
  setAttribute(name: string, value: unknown): void;
  /** Adds an event with the current time. A span has at most 128 events. */
  addEvent(name: string, attributes?: Readonly<Record<string, unknown>>): void;
}
