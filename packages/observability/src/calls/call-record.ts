import type { Attributes, CallSpan, ObservedCall, ObservedOutcome, SpanKind } from "@svc-runtime/engine/module";
import type { CallError, Caller, Job } from "@svc-runtime/protocol";
import type { Resource, SpanEvent, SpanLink, SpanRecord, SpanSink } from "../telemetry-records.ts";
import { baggageEntries } from "./baggage-entries.ts";
import { type CallFailure, failureOf, resultOf } from "./call-failure.ts";
import { attributesOf, eventsOf } from "./call-span-facts.ts";
import type { CallResult, FunctionStats } from "./call-stats.ts";
import { beginningOf, bytesOf, COPY_ABOVE, cutText, isLong } from "./payload-preview.ts";
import type { SpanClock, TimeAnchor } from "./span-clock.ts";
import { TextArena, type TextChunk } from "./text-arena.ts";
import { traceparentOf } from "./trace-ids.ts";
import type { WorkerCalls } from "./worker-calls.ts";

/** Approximate size of a record without its payloads, in bytes. Includes the frames of small payloads. */
const RECORD_BYTES = 700;

const NO_LINKS: readonly SpanLink[] = [];

/** Facts about a function that are known before it is called. */
export interface FunctionFacts {
  readonly functionId: string;
  readonly stats: FunctionStats;
  /** True for the engine's own functions: calls of them are recorded only within a caller's trace. */
  readonly internal: boolean;
}

/** Services that all records share. */
export interface RecordHost {
  readonly clock: SpanClock;
  readonly sink: SpanSink;
  readonly workerCalls: Pick<WorkerCalls, "ended">;
  readonly history: { begun(record: CallRecord): void; ended(record: CallRecord): void };
  /** False if inputs and outputs are not stored. */
  readonly previews: boolean;
  /** Maximum length of each payload on a span, in characters. */
  readonly previewLength: number;
  /**
   * Arenas for the texts of ended calls. Sampled calls have their own arena, because they are stored longer than the
   * others.
   */
  readonly sampledTexts: TextArena;
  readonly otherTexts: TextArena;
  /** Called when the record is no longer referenced and can be reused. */
  recycle(record: CallRecord): void;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const INVOCATION_CHARACTERS = 36;

/**
 * Record of one call: its span, its entry in the invocation history, and the call data that the router holds while the
 * call runs. It is created on the hot path, so it stores what it receives unchanged and computes times, attributes and
 * events when they are read. Records are pooled, because allocating thousands of medium-lived objects would keep the
 * garbage collector busy. Measured with `npm run bench -- --rows 23`: without the pool and `TextArena`, a call takes 34
 * % more CPU of the engine; without the pool alone, 8 to 15 % more.
 */
export class CallRecord implements SpanRecord, CallSpan {
  // The fields that eviction reads come first, so that they share one cache line. At eviction, the CPU's cache no
  // longer holds any of the record.
  /** Reference count. References are held by the router while the call runs, and by each caller of `retain`. */
  #keepers = 0;
  inHistory = false;
  /** Bytes that the history has counted for this record. */
  countedBytes = 0;
  /** Undefined while the call is pending. */
  result: CallResult | undefined;
  sampled = false;
  /**
   * Packed UTF-8 texts, in this order: trace id, span id, parent span id (if there is one), invocation id, input,
   * output. `#packedAt` is the position of the first text, `#outputAt` the position of the output, `#packedEnd` the end
   * of the last text.
   */
  #packed: TextChunk | undefined;
  readonly #host: RecordHost;
  #packedAt = 0;
  #outputAt = 0;
  #packedEnd = 0;
  /** Position in the history, counted from 1. */
  sequence = 0;
  pendingPlace = -1;
  resource: Resource;
  facts: FunctionFacts;
  caller: Caller | undefined;
  job: Job | undefined;
  /** Origin of the call: `call`, `http`, `queue`, `cli`, … */
  source = "";
  failure: CallFailure | undefined;
  #anchor: TimeAnchor;
  #baggage: string | undefined;
  /** Microseconds after the anchor. The end is -1 while the call is pending. */
  #start = 0;
  #end = -1;
  // The ids are undefined while they are packed.
  #traceId: string | undefined;
  #spanId: string | undefined;
  #parentSpanId: string | undefined;
  #invocationId: string | undefined;
  #input: string | undefined;
  #output: string | undefined;
  /** True if the texts must not be packed together with those of other calls. */
  #isApart = false;
  #hasParent = false;
  #hasInput = false;
  #hasOutput = false;
  /** Size of the whole payload in bytes; -1 if it equals the size of the stored text. */
  #inputBytes = -1;
  #outputBytes = -1;
  #inputCut = false;
  #outputCut = false;
  /** Length of everything stored besides the record itself, in characters. */
  #keptLength = 0;

  constructor(host: RecordHost, facts: FunctionFacts, resource: Resource) {
    this.#host = host;
    this.#anchor = host.clock.anchor;
    this.facts = facts;
    this.resource = resource;
  }

  /** Resets the record for a new call. */
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
    const { workerId } = this.resource;
    if (workerId !== undefined) host.workerCalls.ended(workerId, outcome.ok, this.duration);
    host.history.ended(this);
    host.sink.ended(this);
    // Texts of failed calls are not packed: failed calls are stored longer, and would keep a chunk with texts of other
    // calls in memory.
    if (this.failure === undefined && this.#keepers > 1) this.#pack(this.#arena);
    this.release();
  }

  /** Ends a call that was rejected before it ran. */
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

  /** Called when the record leaves the history. From then on the record stores only what its span shows. */
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

  /** Moves the texts out of the shared chunk, so that this long-lived record does not keep the chunk alive. */
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

  /** Undefined if previews are off. */
  get input(): string | undefined {
    if (this.#packed === undefined || !this.#hasInput) return this.#input;
    return this.#packed.bytes.toString("utf8", this.#packedAt + this.#idsLength(), this.#outputAt);
  }

  /** Undefined if previews are off, or if there is no output yet. */
  get output(): string | undefined {
    if (this.#packed === undefined || !this.#hasOutput) return this.#output;
    return this.#packed.bytes.toString("utf8", this.#outputAt, this.#packedEnd);
  }

  /** Duration in milliseconds; -1 while the call is pending. */
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

  /**
   * Approximate size in bytes of what the span needs, without the data that only the history stores. It grows once,
   * when the call ends.
   */
  get size(): number {
    const { previewLength } = this.#host;
    if (this.#keptLength <= previewLength) return RECORD_BYTES + this.#keptLength;
    const input = this.#inputLength();
    const output = this.#outputLength();
    const others = this.#keptLength - input - output;
    return RECORD_BYTES + others + Math.min(input, previewLength) + Math.min(output, previewLength);
  }

  /** Approximate size in bytes, with the data that only the history stores. It grows once, when the call ends. */
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

  /** Returns the length of the stored input: in characters, or in bytes if it is packed. */
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
    const first = arena.write(
      `${this.#traceId}${this.#spanId}${this.#parentSpanId ?? ""}${invocationId}${input}`,
      output,
    );
    this.#packed = arena.chunk;
    this.#packedAt = arena.start;
    this.#outputAt = arena.start + first;
    this.#packedEnd = arena.start + arena.length;
    this.#dropTexts();
  }

  /** Sampled calls have their own arena, because they may be stored long after the other calls are gone. */
  get #arena(): TextArena {
    return this.sampled ? this.#host.sampledTexts : this.#host.otherTexts;
  }

  #dropPacked(): void {
    if (this.#packed === undefined) return;
    this.#arena.drop(this.#packed);
    this.#packed = undefined;
  }

  /** Releases the fields that may be large. The next `begin` overwrites the others. */
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
