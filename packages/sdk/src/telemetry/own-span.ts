import type { Active, ActiveCall } from "../active-call.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { MAX_ATTRIBUTES, OtlpAttributes } from "./otlp-values.ts";
import { SPAN_KINDS, type Span, type SpanKind, type SpanOptions } from "./span.ts";
import { childOf, readTraceparent, type TraceContext, type TraceHeaders, writeTraceparent } from "./trace-context.ts";
import { nanosOf, wallTimeMs } from "./wall-time.ts";

const STATUS_ERROR = 2;
const MAX_EVENTS = 128;
const MAX_NAME_CHARS = 1024;

const spanOptions = optionNames("span", ["attributes", "kind"]);

/** A running span. It is the parent of calls and log lines made meanwhile. */
export class OwnSpan implements Span, Active {
  readonly activeCall: ActiveCall | undefined;
  /** False if the span is not recorded. Its children then belong to its parent. */
  readonly isRecorded: boolean;
  readonly traceparent: string;
  readonly baggage: string | undefined;
  readonly #context: TraceContext;
  readonly #parentSpanId: string | undefined;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #startMs = wallTimeMs();
  readonly #attributes = new Map<string, unknown>();
  readonly #events: { readonly name: string; readonly timeMs: number; readonly attributes: OtlpAttributes }[] = [];
  #droppedEvents = 0;
  #droppedAttributes = 0;

  /** `isWanted` returns whether to record a span that is sampled or not. */
  constructor(
    name: string,
    options: SpanOptions,
    headers: TraceHeaders | undefined,
    activeCall: ActiveCall | undefined,
    isWanted: (sampled: boolean) => boolean,
  ) {
    const { kind = "internal", attributes = {} } = checkedOptions(options, spanOptions);
    const parent = readTraceparent(headers?.traceparent);
    this.isRecorded = isWanted(parent?.sampled ?? true);
    this.#context = parent !== undefined && !this.isRecorded ? parent : childOf(parent);
    this.traceparent = writeTraceparent(this.#context);
    this.baggage = headers?.baggage;
    this.activeCall = activeCall;
    this.#parentSpanId = parent?.spanId;
    this.#name = String(name).slice(0, MAX_NAME_CHARS);
    this.#kind = kind;
    for (const [key, value] of Object.entries(attributes)) this.setAttribute(key, value);
  }

  get running(): boolean {
    return this.activeCall?.running ?? false;
  }

  setAttribute(name: string, value: unknown): void {
    if (this.#attributes.size < MAX_ATTRIBUTES || this.#attributes.has(name)) this.#attributes.set(name, value);
    else this.#droppedAttributes++;
  }

  addEvent(name: string, attributes: Readonly<Record<string, unknown>> = {}): void {
    const written = this.#event(name);
    for (const [key, value] of Object.entries(attributes)) written?.set(key, value);
  }

  #fail(thrown: unknown): void {
    const attributes = this.#event("exception");
    if (thrown instanceof Error) attributes?.exception(thrown);
    else attributes?.set("exception.message", messageOf(thrown));
  }

  #event(name: string): OtlpAttributes | undefined {
    if (this.#events.length >= MAX_EVENTS) {
      this.#droppedEvents++;
      return undefined;
    }
    const attributes = new OtlpAttributes();
    this.#events.push({ name: name.slice(0, MAX_NAME_CHARS), timeMs: wallTimeMs(), attributes });
    return attributes;
  }

  /** Returns a `Span` of OTLP/JSON that ends now. Never throws. */
  ended(failed: boolean, thrown?: unknown): string {
    if (failed) this.#fail(thrown);
    const attributes = new OtlpAttributes();
    attributes.set("svc.function_id", this.activeCall?.functionId);
    attributes.set("svc.invocation_id", this.activeCall?.invocationId);
    for (const [name, value] of this.#attributes) attributes.set(name, value);
    const events = this.#events.map((event) => ({
      timeUnixNano: nanosOf(event.timeMs),
      name: event.name,
      attributes: event.attributes.list,
    }));
    return JSON.stringify({
      traceId: this.#context.traceId,
      spanId: this.#context.spanId,
      parentSpanId: this.#parentSpanId,
      flags: Number(this.#context.sampled),
      name: this.#name,
      kind: SPAN_KINDS[this.#kind],
      startTimeUnixNano: nanosOf(this.#startMs),
      endTimeUnixNano: nanosOf(Math.max(this.#startMs, wallTimeMs())),
      attributes: attributes.list,
      droppedAttributesCount: this.#droppedAttributes + attributes.dropped || undefined,
      events,
      droppedEventsCount: this.#droppedEvents || undefined,
      status: failed ? { code: STATUS_ERROR, message: messageOf(thrown) } : { code: 0 },
    });
  }
}

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, MAX_NAME_CHARS);
  } catch {
    return "an error whose message cannot be read";
  }
}
