import type { CallError, Caller, Job } from "@svc/protocol";
import type { Attributes, CallSpan, ObservedCall, ObservedOutcome, SpanKind } from "../../../kernel/telemetry-contract.ts";
import type { Resource, SpanEvent, SpanLink, SpanRecord, SpanSink } from "../model.ts";
import { baggageEntries } from "./baggage-entries.ts";
import { type CallFailure, failureOf, resultOf } from "./call-failure.ts";
import { attributesOf, eventsOf } from "./call-span-facts.ts";
import type { CallResult, FunctionStats } from "./call-stats.ts";
import { beginningOf, bytesOf, COPY_ABOVE, cutText, isLong } from "./payload-preview.ts";
import type { SpanClock, TimeAnchor } from "./span-clock.ts";
import { TextArena, type TextChunk } from "./text-arena.ts";
import { traceparentOf } from "./trace-ids.ts";

/** About what one record takes besides its payloads, with the frames that small payloads are slices of; bytes. */
const RECORD_BYTES = 700;

const NO_LINKS: readonly SpanLink[] = [];

/** What is known of a function before a call of it comes. */
export interface FunctionFacts {
  readonly functionId: string;
  readonly stats: FunctionStats;
  /** Of the engine's own: calls of it are not recorded unless they belong to somebody's trace. */
  readonly internal: boolean;
}

/** What records need of their surroundings: one for all of them. */
export interface RecordHost {
  readonly clock: SpanClock;
  readonly sink: SpanSink;
  readonly history: { begun(record: CallRecord): void; ended(record: CallRecord): void };
  /** False keeps nothing of inputs and outputs. */
  readonly previews: boolean;
  /** Of each payload on a span, in characters. */
  readonly previewLength: number;
  /** Where texts of ended calls go. Two, so that calls that are kept for long do not keep those that are not. */
  readonly sampledTexts: TextArena;
  readonly otherTexts: TextArena;
  /** Nobody keeps it any more. */
  recycle(record: CallRecord): void;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const INVOCATION_CHARACTERS = 36;

/**
 * One call: its span, what the invocation history shows of it, and what the router holds while it runs. Made on the hot path, so it keeps what it was
 * given as it is; times, attributes and events are worked out when somebody reads them. Used again for another call when nobody keeps it: thousands of
 * records that come, grow old and go would keep the garbage collector busy.
 */
export class CallRecord implements SpanRecord, CallSpan {
  // What is read when an old record has to go comes first and lies together: by then the rest is in no cache.
  /** The router while the call runs, and whoever retained it. */
  #keepers = 0;
  inHistory = false;
  /** What the history has counted of it. */
  countedBytes = 0;
  /** Undefined while it is pending. */
  result: CallResult | undefined;
  sampled = false;
  /** Trace id, span id, parent's id if there is one, invocation id, input, output, as UTF-8; where they begin, where the output does, and where it ends. */
  #packed: TextChunk | undefined;
  readonly #host: RecordHost;
  #packedAt = 0;
  #outputAt = 0;
  #packedEnd = 0;
  /** Its place in the history, counted from 1. */
  sequence = 0;
  pendingPlace = -1;
  resource: Resource;
  facts: FunctionFacts;
  caller: Caller | undefined;
  job: Job | undefined;
  /** What made the call: `call`, `http`, `queue`, `cli`, … */
  source = "";
  failure: CallFailure | undefined;
  #anchor: TimeAnchor;
  #baggage: string | undefined;
  /** Microseconds after the anchor; the end is -1 while it is pending. */
  #start = 0;
  #end = -1;
  // Undefined once they are packed.
  #traceId: string | undefined;
  #spanId: string | undefined;
  #parentSpanId: string | undefined;
  #invocationId: string | undefined;
  #input: string | undefined;
  #output: string | undefined;
  /** It keeps its texts by itself. */
  #isApart = false;
  #hasParent = false;
  #hasInput = false;
  #hasOutput = false;
  /** Of the whole, in bytes; -1: that of the text that is kept. */
  #inputBytes = -1;
  #outputBytes = -1;
  #inputCut = false;
  #outputCut = false;
  /** Of all that is kept besides the record itself, in characters. */
  #keptLength = 0;

  /** `begin` makes it a call's. */
  constructor(host: RecordHost, facts: FunctionFacts, resource: Resource) {
    this.#host = host;
    this.#anchor = host.clock.anchor;
    this.facts = facts;
    this.resource = resource;
  }

  /** The record is that of this call from now on, and no longer that of the one before. */
  begin(
    call: ObservedCall,
    facts: FunctionFacts,
    resource: Resource,
    startedAt: number,
    source: string,
    traceId: string,
    spanId: string,
    parentSpanId: string | undefined,
    sampled: boolean,
  ): void {
    const { caller, job, baggage, payload } = call;
    const host = this.#host;
    this.#keepers = 1;
    this.facts = facts;
    this.resource = resource;
    this.caller = caller;
    this.job = job;
    this.source = source;
    this.sampled = sampled;
    this.result = undefined;
    this.failure = undefined;
    this.#anchor = host.clock.anchorAt(startedAt);
    this.#start = this.#anchor.micros(startedAt);
    this.#end = -1;
    this.#baggage = baggage;
    this.#keptLength = baggage === undefined ? 0 : baggage.length;
    this.#traceId = traceId;
    this.#spanId = spanId;
    this.#parentSpanId = parentSpanId;
    this.#hasParent = parentSpanId !== undefined;
    this.#invocationId = call.id;
    this.#isApart = false;
    this.#hasInput = host.previews;
    this.#hasOutput = false;
    this.#inputCut = false;
    this.#outputCut = false;
    this.#inputBytes = -1;
    this.#outputBytes = -1;
    if (!host.previews) {
      this.#inputBytes = bytesOf(payload);
      return;
    }
    const input = beginningOf(payload);
    this.#input = input;
    this.#keptLength += input.length;
    if (input.length > COPY_ABOVE && isLong(payload)) {
      this.#inputCut = true;
      this.#inputBytes = bytesOf(payload);
    }
  }

  get traceparent(): string {
    return traceparentOf(this.traceId, this.spanId, this.sampled);
  }

  ended(outcome: ObservedOutcome): void {
    const host = this.#host;
    const now = host.clock.monotonic();
    this.#end = Math.max(this.#start, this.#anchor.micros(now));
    if (outcome.ok) {
      this.result = "ok";
      if (outcome.result !== undefined) this.#keepOutput(outcome.result);
    } else {
      this.result = resultOf(outcome.error);
      this.#fail(outcome.error);
    }
    this.facts.stats.end(this.result, this.duration, this.#anchor.offsetMs + now);
    host.history.ended(this);
    host.sink.ended(this);
    // Failed ones stay longer than others, which must not stay with them.
    if (this.failure === undefined && this.#keepers > 1) this.#pack(this.#arena);
    this.release();
  }

  /** The end of a call that nobody ran. */
  refused(error: CallError): void {
    this.#end = this.#start;
    this.result = "refused";
    this.#fail(error);
    this.#host.history.ended(this);
    this.#host.sink.ended(this);
    this.release();
  }

  retain(): void {
    this.#keepers++;
  }

  release(): void {
    this.#keepers--;
    if (this.#keepers > 0) return;
    this.#forget();
    this.#host.recycle(this);
  }

  /** It has left the history: from now on only what its span shows is kept. */
  trim(): void {
    const { previewLength } = this.#host;
    if (this.#input !== undefined && this.#input.length > previewLength) {
      if (this.#inputBytes === -1) this.#inputBytes = Buffer.byteLength(this.#input);
      this.#inputCut = true;
      this.#keptLength -= this.#input.length - previewLength;
      this.#input = cutText(this.#input, previewLength);
    }
    if (this.#output !== undefined && this.#output.length > previewLength) {
      if (this.#outputBytes === -1) this.#outputBytes = Buffer.byteLength(this.#output);
      this.#outputCut = true;
      this.#keptLength -= this.#output.length - previewLength;
      this.#output = cutText(this.#output, previewLength);
    }
  }

  /** It will be kept longer than those around it, which must not be kept with it. */
  unpack(): void {
    this.#isApart = true;
    if (this.#packed === undefined) return;
    const { traceId, spanId, parentSpanId, invocationId, input, output } = this;
    this.#traceId = traceId;
    this.#spanId = spanId;
    this.#parentSpanId = parentSpanId;
    this.#invocationId = invocationId;
    this.#input = input;
    this.#output = output;
    this.#dropPacked();
  }

  get traceId(): string {
    return this.#traceId ?? this.#text(0, TRACE_DIGITS);
  }

  get spanId(): string {
    return this.#spanId ?? this.#text(TRACE_DIGITS, SPAN_DIGITS);
  }

  get parentSpanId(): string | undefined {
    return this.#hasParent ? (this.#parentSpanId ?? this.#text(TRACE_DIGITS + SPAN_DIGITS, SPAN_DIGITS)) : undefined;
  }

  get invocationId(): string {
    return this.#invocationId ?? this.#text(this.#idsLength() - INVOCATION_CHARACTERS, INVOCATION_CHARACTERS);
  }

  /** Undefined where previews are off. */
  get input(): string | undefined {
    if (this.#packed === undefined || !this.#hasInput) return this.#input;
    return this.#packed.bytes.toString("utf8", this.#packedAt + this.#idsLength(), this.#outputAt);
  }

  /** Undefined where previews are off, and while there is none. */
  get output(): string | undefined {
    if (this.#packed === undefined || !this.#hasOutput) return this.#output;
    return this.#packed.bytes.toString("utf8", this.#outputAt, this.#packedEnd);
  }

  /** Milliseconds; -1 while it is pending. */
  get duration(): number {
    return this.#end === -1 ? -1 : (this.#end - this.#start) / 1_000;
  }

  get durationMs(): number | undefined {
    return this.#end === -1 ? undefined : (this.#end - this.#start) / 1_000;
  }

  get name(): string {
    return this.facts.functionId;
  }

  get internal(): boolean {
    return this.facts.internal;
  }

  get kind(): SpanKind {
    if (this.facts.internal) return "internal";
    return this.job === undefined ? "server" : "consumer";
  }

  /** Milliseconds since 1970, with a fraction. */
  get startedAtMs(): number {
    return this.#anchor.unixMs(this.#start);
  }

  get startUnixNano(): bigint {
    return this.#anchor.unixNano(this.#start);
  }

  get endUnixNano(): bigint | undefined {
    return this.#end === -1 ? undefined : this.#anchor.unixNano(this.#end);
  }

  get status(): "ok" | "error" | "unset" {
    return this.result === undefined ? "unset" : this.result === "ok" ? "ok" : "error";
  }

  get statusDescription(): string | undefined {
    return this.failure?.message;
  }

  get attributes(): Attributes {
    return attributesOf(this);
  }

  get events(): readonly SpanEvent[] {
    return eventsOf(this, this.#host.previewLength);
  }

  get links(): readonly SpanLink[] {
    return NO_LINKS;
  }

  get baggage(): Readonly<Record<string, string>> {
    return baggageEntries(this.#baggage);
  }

  get scopeName(): string {
    return "svc";
  }

  get scopeVersion(): undefined {
    return undefined;
  }

  /** That of the span: what the history keeps besides is the history's to count. Grows once, when the call ends. */
  get size(): number {
    const { previewLength } = this.#host;
    if (this.#keptLength <= previewLength) return RECORD_BYTES + this.#keptLength;
    const input = this.#inputLength();
    const output = this.#outputLength();
    const others = this.#keptLength - input - output;
    return RECORD_BYTES + others + Math.min(input, previewLength) + Math.min(output, previewLength);
  }

  /** With all that the history keeps. Grows once, when the call ends. */
  get fullSize(): number {
    return RECORD_BYTES + this.#keptLength;
  }

  get inputBytes(): number {
    if (this.#inputBytes !== -1) return this.#inputBytes;
    return this.#input === undefined ? this.#inputLength() : Buffer.byteLength(this.#input);
  }

  get outputBytes(): number {
    if (this.#outputBytes !== -1) return this.#outputBytes;
    return this.#output === undefined ? this.#outputLength() : Buffer.byteLength(this.#output);
  }

  get inputCut(): boolean {
    return this.#inputCut;
  }

  get outputCut(): boolean {
    return this.#outputCut;
  }

  #idsLength(): number {
    return TRACE_DIGITS + SPAN_DIGITS + (this.#hasParent ? SPAN_DIGITS : 0) + INVOCATION_CHARACTERS;
  }

  /** Of what is kept, in characters, or bytes where it is packed. */
  #inputLength(): number {
    if (this.#packed !== undefined && this.#hasInput) return this.#outputAt - this.#packedAt - this.#idsLength();
    return this.#input?.length ?? 0;
  }

  #outputLength(): number {
    if (this.#packed !== undefined && this.#hasOutput) return this.#packedEnd - this.#outputAt;
    return this.#output?.length ?? 0;
  }

  #text(from: number, length: number): string {
    const at = this.#packedAt + from;
    return this.#packed?.bytes.toString("latin1", at, at + length) ?? "";
  }

  #pack(arena: TextArena): void {
    if (this.#isApart) return;
    const input = this.#input ?? "";
    const output = this.#output ?? "";
    const invocationId = this.#invocationId ?? "";
    if (input.length + output.length > TextArena.maxLength || invocationId.length !== INVOCATION_CHARACTERS) return;
    const first = arena.write(`${this.#traceId}${this.#spanId}${this.#parentSpanId ?? ""}${invocationId}${input}`, output);
    this.#packed = arena.chunk;
    this.#packedAt = arena.start;
    this.#outputAt = arena.start + first;
    this.#packedEnd = arena.start + arena.length;
    this.#dropTexts();
  }

  /** A call that is sampled may be kept long after those that are not. */
  get #arena(): TextArena {
    return this.sampled ? this.#host.sampledTexts : this.#host.otherTexts;
  }

  #dropPacked(): void {
    if (this.#packed === undefined) return;
    this.#arena.drop(this.#packed);
    this.#packed = undefined;
  }

  /** Lets go of what may be large; the rest is written over by the next call. */
  #forget(): void {
    if (this.#packed !== undefined) {
      this.#dropPacked();
      return;
    }
    this.failure = undefined;
    this.#baggage = undefined;
    this.#dropTexts();
  }

  #dropTexts(): void {
    this.#traceId = undefined;
    this.#spanId = undefined;
    this.#parentSpanId = undefined;
    this.#invocationId = undefined;
    this.#input = undefined;
    this.#output = undefined;
  }

  #fail(error: CallError): void {
    const failure = failureOf(error);
    this.failure = failure;
    this.#keptLength += failure.message.length + (failure.stacktrace?.length ?? 0) + (failure.details?.length ?? 0);
  }

  #keepOutput(payload: Parameters<typeof beginningOf>[0]): void {
    if (!this.#host.previews) {
      this.#outputBytes = bytesOf(payload);
      return;
    }
    const output = beginningOf(payload);
    this.#output = output;
    this.#hasOutput = true;
    this.#keptLength += output.length;
    if (output.length <= COPY_ABOVE || !isLong(payload)) return;
    this.#outputCut = true;
    this.#outputBytes = bytesOf(payload);
  }
}
