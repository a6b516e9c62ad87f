import type { ActiveSpan, Attributes, AttributeValue, SpanKind, SpanStart } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import type { Resource, SpanEvent, SpanLink, SpanRecord, SpanSink } from "../telemetry-records.ts";
import { baggageEntries } from "./baggage-entries.ts";
import { cutText } from "./payload-preview.ts";
import type { SpanClock, TimeAnchor } from "./span-clock.ts";
import { isTraceparent, spanIdOf, traceIdOf, traceparentOf } from "./trace-ids.ts";

/** Approximate size of a span without its attributes, in bytes. */
const SPAN_BYTES = 500;
/** Maximum number of attributes of a span. */
const MAX_ATTRIBUTES = 128;
/** Maximum length of an attribute's name, in characters. */
const MAX_NAME = 256;
const MAX_LINKS = 32;
/**
 * Maximum length of one attribute or message, in characters. They may come from clients, for example the path of a
 * request.
 */
const MAX_TEXT = 4_096;
const MAX_STACK = 16_384;

export interface ModuleSpanHost {
  readonly clock: SpanClock;
  readonly sink: SpanSink;
  readonly resource: Resource;
  onEnd(span: ModuleSpan): void;
}

/** Span of work that a module starts: a request, a cron tick or a job. */
export class ModuleSpan implements SpanRecord, ActiveSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly sampled: boolean;
  readonly internal = false;
  readonly scopeName = "svc";
  readonly scopeVersion = undefined;
  readonly links: readonly SpanLink[];
  status: "ok" | "error" | "unset" = "unset";
  statusDescription: string | undefined;
  pendingPlace = -1;
  readonly #host: ModuleSpanHost;
  readonly #anchor: TimeAnchor;
  readonly #start: number;
  /**
   * Names and values alternate. An object without a prototype would be a hash table, which takes a third more CPU per
   * span.
   */
  readonly #attributes: AttributeValue[] = [];
  readonly #baggage: string | undefined;
  /** -1 while the span is pending. */
  #end = -1;
  #exception: Attributes | undefined;
  #size = SPAN_BYTES;

  constructor(
    host: ModuleSpanHost,
    start: SpanStart,
    ids: {
      readonly traceId: string;
      readonly spanId: string;
      readonly parentSpanId: string | undefined;
      readonly sampled: boolean;
    },
  ) {
    this.#host = host;
    this.traceId = ids.traceId;
    this.spanId = ids.spanId;
    this.parentSpanId = ids.parentSpanId;
    this.sampled = ids.sampled;
    this.name = bounded(start.name, MAX_TEXT);
    this.kind = start.kind;
    this.links = linksOf(start.links);
    this.#baggage = start.baggage;
    const startedAt = host.clock.monotonic();
    this.#anchor = host.clock.anchorAt(startedAt);
    this.#start = this.#anchor.micros(startedAt);
    const attributes = typeof start.attributes === "function" ? start.attributes() : start.attributes;
    for (const name in attributes) {
      const value = attributes[name];
      if (value !== undefined) this.setAttribute(name, value);
    }
  }

  get traceparent(): string {
    return traceparentOf(this.traceId, this.spanId, this.sampled);
  }

  setAttribute(name: string, value: AttributeValue): void {
    if (this.#end !== -1) return;
    const kept = typeof value === "string" ? bounded(value, MAX_TEXT) : value;
    if (this.#put(bounded(name, MAX_NAME), kept, MAX_ATTRIBUTES))
      this.#size += name.length + (typeof kept === "string" ? kept.length : 16);
  }

  /** Sets the attribute. Returns false if it is new and the span already has `limit` attributes. */
  #put(name: string, value: AttributeValue, limit: number): boolean {
    const attributes = this.#attributes;
    for (let at = 0; at < attributes.length; at += 2) {
      if (attributes[at] !== name) continue;
      attributes[at + 1] = value;
      return true;
    }
    if (attributes.length >= 2 * limit) return false;
    attributes.push(name, value);
    return true;
  }

  end(outcome: { readonly error?: CallError | string | undefined } = {}): void {
    if (this.#end !== -1) return;
    const { clock, sink } = this.#host;
    this.#end = Math.max(this.#start, this.#anchor.micros(clock.monotonic()));
    this.status = "ok";
    if (outcome.error !== undefined) this.#fail(outcome.error);
    this.#host.onEnd(this);
    sink.ended(this);
  }

  get startUnixNano(): bigint {
    return this.#anchor.unixNano(this.#start);
  }

  get endUnixNano(): bigint | undefined {
    return this.#end === -1 ? undefined : this.#anchor.unixNano(this.#end);
  }

  get durationMs(): number | undefined {
    return this.#end === -1 ? undefined : (this.#end - this.#start) / 1_000;
  }

  /** Creates a new object at each read, so read it once. */
  get attributes(): Attributes {
    const attributes = Object.create(null) as Record<string, AttributeValue>;
    const kept = this.#attributes;
    for (let at = 0; at < kept.length; at += 2) attributes[kept[at] as string] = kept[at + 1] as AttributeValue;
    return attributes;
  }

  get events(): readonly SpanEvent[] {
    const end = this.endUnixNano;
    return this.#exception === undefined || end === undefined
      ? []
      : [{ name: "exception", timeUnixNano: end, attributes: this.#exception }];
  }

  get baggage(): Readonly<Record<string, string>> {
    return baggageEntries(this.#baggage);
  }

  get resource(): Resource {
    return this.#host.resource;
  }

  /** Grows while the span is pending. */
  get size(): number {
    return this.#size;
  }

  #fail(error: CallError | string): void {
    this.status = "error";
    const callError = CallError.is(error) ? error : undefined;
    const message = bounded(typeof error === "string" ? error : error.message, MAX_TEXT);
    this.statusDescription = message;
    const exception: Record<string, AttributeValue> = {
      "exception.type": callError?.code ?? "error",
      "exception.message": message,
    };
    if (callError !== undefined) this.#put("svc.error.code", callError.code, MAX_ATTRIBUTES + 1);
    if (callError?.stacktrace !== undefined)
      exception["exception.stacktrace"] = bounded(callError.stacktrace, MAX_STACK);
    this.#exception = exception;
    this.#size +=
      message.length + (callError?.stacktrace === undefined ? 0 : Math.min(callError.stacktrace.length, MAX_STACK));
  }
}

const NO_LINKS: readonly SpanLink[] = [];

function linksOf(traceparents: readonly string[] | undefined): readonly SpanLink[] {
  if (traceparents === undefined) return NO_LINKS;
  return traceparents
    .filter(isTraceparent)
    .slice(0, MAX_LINKS)
    .map((link) => ({ traceId: traceIdOf(link), spanId: spanIdOf(link), attributes: {} }));
}

function bounded(text: string, limit: number): string {
  return text.length > limit ? cutText(text, limit) : text;
}
