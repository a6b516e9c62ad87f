import type { Active, RunningCall } from "../calls/async-context.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type { Span, SpanOptions } from "./span.ts";
import { MAX_ATTRIBUTES, MAX_EVENTS, MAX_NAME_CHARS, type SpanRecord } from "./span-record.ts";
import { childOf, readTraceparent, type TraceHeaders, writeTraceparent } from "./trace-context.ts";
import { wallTimeMs } from "./wall-time.ts";

const spanOptions = optionNames("span", ["attributes", "kind"]);

/** A running span. It is the parent of the calls and log lines that are made while it runs. */
export class OwnSpan implements Span, Active {
  readonly activeCall: RunningCall | undefined;
  /** True if the span is recorded. Otherwise its children belong to its parent. */
  readonly isRecorded: boolean;
  readonly traceparent: string;
  readonly baggage: string | undefined;
  readonly #record: SpanRecord;

  /** `isWanted` returns true if the span must be recorded. Its argument says whether the trace is sampled. */
  constructor(
    name: string,
    options: SpanOptions,
    headers: TraceHeaders | undefined,
    activeCall: RunningCall | undefined,
    isWanted: (sampled: boolean) => boolean,
  ) {
    const { kind = "internal", attributes = {} } = checkedOptions(options, spanOptions);
    const parent = readTraceparent(headers?.traceparent);
    this.isRecorded = isWanted(parent?.sampled ?? true);
    const context = parent !== undefined && !this.isRecorded ? parent : childOf(parent);
    this.traceparent = writeTraceparent(context);
    this.baggage = headers?.baggage;
    this.activeCall = activeCall;
    const startMs = wallTimeMs();
    this.#record = {
      context,
      parentSpanId: parent?.spanId,
      name: String(name).slice(0, MAX_NAME_CHARS),
      kind,
      functionId: activeCall?.functionId,
      invocationId: activeCall?.invocationId,
      startMs,
      attributes: new Map(),
      events: [],
      droppedEvents: 0,
      droppedAttributes: 0,
      endMs: startMs,
      failure: undefined,
    };
    for (const [key, value] of Object.entries(attributes)) this.setAttribute(key, value);
  }

  get running(): boolean {
    return this.activeCall?.running ?? false;
  }

  setAttribute(name: string, value: unknown): void {
    const { attributes } = this.#record;
    if (attributes.size < MAX_ATTRIBUTES || attributes.has(name)) attributes.set(name, value);
    else this.#record.droppedAttributes++;
  }

  addEvent(name: string, attributes: Readonly<Record<string, unknown>> = {}): void {
    const { events } = this.#record;
    if (events.length < MAX_EVENTS)
      events.push({ name: name.slice(0, MAX_NAME_CHARS), timeMs: wallTimeMs(), attributes: { ...attributes } });
    else this.#record.droppedEvents++;
  }

  /** Ends the span and returns its content. */
  ended(failure: { readonly thrown: unknown } | undefined): SpanRecord {
    this.#record.endMs = wallTimeMs();
    this.#record.failure = failure;
    return this.#record;
  }
}
