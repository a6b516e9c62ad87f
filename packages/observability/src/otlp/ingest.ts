import type { Signal } from "@svc-runtime/engine/module";
import { DROP_SIGNALS, type DropCounter, type LogSink, type MetricSink, type SpanSink } from "../telemetry-records.ts";
import { checkShape, decode } from "./decode.ts";
import type { Origin } from "./decode-context.ts";
import type { RecordRate } from "./record-rate.ts";

/** Maximum number of queued bytes of all sources together. One frame may have 16 MiB. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Maximum number of queued bytes of all restricted sources together. */
const MAX_WAITING_BYTES_OF_RESTRICTED = 16 * 1024 * 1024;
/** Maximum number of queued bytes of one source. */
const MAX_WAITING_BYTES_PER_SOURCE = 16 * 1024 * 1024;
/** Time for which decoding runs before it pauses, in milliseconds. */
const SLICE_MS = 4;
/** Length of the pause as a multiple of `SLICE_MS`. With 4, decoding takes at most a fifth of the event loop's time. */
const PAUSE_PER_SLICE = 4;
/** Number of records between two checks of the time. */
const CHECK_EVERY = 16;

export interface IngestSinks {
  readonly spans: SpanSink;
  readonly logs: LogSink;
  readonly metrics: MetricSink;
  readonly drops: DropCounter;
  /** Returns the time of the wall clock, in milliseconds. */
  readonly now: () => number;
  /** Limits the number of records from restricted principals. */
  readonly rate: RecordRate;
  /** Name of this node of the cluster. */
  readonly node?: string | undefined;
}

export type IngestOutcome =
  | { readonly kind: "read"; readonly accepted: number; readonly refused: number }
  | { readonly kind: "malformed"; readonly message: string }
  /** The body is valid but too large. */
  | { readonly kind: "too_much"; readonly message: string };

/** Thrown by `parse` for a valid body that would take too much memory. */
export class TooMuchError extends Error {}

interface WaitingBody {
  readonly signal: Signal;
  readonly bytes: number;
  readonly origin: Origin;
  readonly parse: () => unknown;
  readonly onDone: ((outcome: IngestOutcome) => void) | undefined;
}

interface ReadingBody extends WaitingBody {
  readonly records: Generator<boolean>;
  accepted: number;
  refused: number;
}

/**
 * Decodes external telemetry in short slices, round-robin by source, so that a busy sender delays neither calls nor
 * other sources. The queued bytes are limited. Bodies beyond the limit are dropped and counted.
 */
export class Ingest {
  readonly #sinks: IngestSinks;
  /** Queues by source, in round-robin order. */
  readonly #waiting = new Map<string, WaitingBody[]>();
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;
  #restrictedBytes = 0;
  #current: ReadingBody | undefined;
  /** Cancels the next turn; undefined if none is scheduled. */
  #cancelTurn: (() => void) | undefined;
  #stopped = false;
  #accepted = 0;
  #refused = 0;

  constructor(sinks: IngestSinks) {
    this.#sinks = sinks;
  }

  get counts(): { readonly accepted: number; readonly refused: number; readonly waitingBytes: number } {
    return { accepted: this.#accepted, refused: this.#refused, waitingBytes: this.#bytes };
  }

  /**
   * Queues a body. If the queue is full, counts a drop and returns false. Bodies with the same `source` are in the same
   * place of the round-robin order.
   */
  offer(source: string, body: WaitingBody): boolean {
    const ofSource = this.#bytesOf.get(source) ?? 0;
    const restricted = body.origin.restrictedTo === undefined ? 0 : body.bytes;
    const isFull =
      this.#bytes + body.bytes > MAX_WAITING_BYTES ||
      (restricted > 0 && this.#restrictedBytes + restricted > MAX_WAITING_BYTES_OF_RESTRICTED) ||
      (ofSource > 0 && ofSource + body.bytes > MAX_WAITING_BYTES_PER_SOURCE);
    if (this.#stopped || isFull) {
      this.#sinks.drops.dropped(DROP_SIGNALS[body.signal], this.#stopped ? "shutdown" : "ingest_queue_full", 1);
      return false;
    }
    this.#bytes += body.bytes;
    this.#restrictedBytes += restricted;
    this.#bytesOf.set(source, ofSource + body.bytes);
    const waiting = this.#waiting.get(source);
    if (waiting === undefined) this.#waiting.set(source, [body]);
    else waiting.push(body);
    if (this.#cancelTurn === undefined) {
      const turn = setImmediate(() => this.#work());
      this.#cancelTurn = () => clearImmediate(turn);
    }
    return true;
  }

  /** Decodes the queued bodies without pauses for at most `maxMs`, and drops the rest. */
  stop(maxMs: number): void {
    const end = performance.now() + maxMs;
    while (performance.now() < end && this.#step(end)) {}
    this.#stopped = true;
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    for (const bodies of this.#waiting.values())
      for (const { signal } of bodies) this.#sinks.drops.dropped(DROP_SIGNALS[signal], "shutdown", 1);
    this.#waiting.clear();
  }

  #work(): void {
    this.#cancelTurn = undefined;
    const start = performance.now();
    const hasMore = this.#step(start + SLICE_MS);
    if (!hasMore) return;
    const rest = Math.ceil((performance.now() - start) * PAUSE_PER_SLICE);
    const turn = setTimeout(() => this.#work(), rest).unref();
    this.#cancelTurn = () => clearTimeout(turn);
  }

  /** Decodes until the given time, or until the queue is empty. Returns false if the queue is empty. */
  #step(until: number): boolean {
    for (;;) {
      this.#current ??= this.#next();
      if (this.#current === undefined) return this.#waiting.size > 0;
      if (!this.#read(this.#current, until)) return true;
      this.#current = undefined;
      if (performance.now() >= until) return this.#waiting.size > 0;
    }
  }

  /**
   * Returns the next source's first body, parsed. Returns undefined if the queue is empty or the body cannot be parsed.
   */
  #next(): ReadingBody | undefined {
    const [source, bodies] = this.#waiting.entries().next().value ?? [];
    if (source === undefined || bodies === undefined) return undefined;
    const body = bodies.shift() as WaitingBody;
    this.#waiting.delete(source);
    this.#bytes -= body.bytes;
    if (body.origin.restrictedTo !== undefined) this.#restrictedBytes -= body.bytes;
    const left = (this.#bytesOf.get(source) ?? 0) - body.bytes;
    if (bodies.length > 0) {
      // Moves the source to the end of the queue.
      this.#waiting.set(source, bodies);
      this.#bytesOf.set(source, left);
    } else {
      this.#bytesOf.delete(source);
    }
    const { spans, logs, metrics, drops, now, node } = this.#sinks;
    const { restrictedTo } = body.origin;
    if (restrictedTo !== undefined && this.#sinks.rate.isSpent(restrictedTo)) {
      drops.dropped(DROP_SIGNALS[body.signal], "principal_rate", 1);
      body.onDone?.({ kind: "read", accepted: 0, refused: 1 });
      return undefined;
    }
    try {
      const parsed = body.parse();
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
        throw new SyntaxError("the body is not an object");
      checkShape(body.signal, parsed);
      const context = {
        origin: body.origin,
        spans,
        logs,
        metrics,
        drops,
        nowNanos: BigInt(Math.round(now())) * 1_000_000n,
        node,
      };
      return { ...body, records: decode(body.signal, parsed, context), accepted: 0, refused: 0 };
    } catch (error) {
      const isOverLimit = error instanceof TooMuchError;
      drops.dropped(DROP_SIGNALS[body.signal], isOverLimit ? "too_much" : "malformed_body", 1);
      body.onDone?.({ kind: isOverLimit ? "too_much" : "malformed", message: (error as Error).message });
      return undefined;
    }
  }

  /** Decodes records of a body. Returns false if the time is up before the end of the body. */
  #read(body: ReadingBody, until: number): boolean {
    const { restrictedTo } = body.origin;
    for (let count = 1; ; count += 1) {
      if (restrictedTo !== undefined && this.#sinks.rate.isSpent(restrictedTo)) {
        // The number of remaining records is not known without decoding them, so one drop is counted.
        this.#sinks.drops.dropped(DROP_SIGNALS[body.signal], "principal_rate", 1);
        body.refused += 1;
        break;
      }
      const { done, value } = body.records.next();
      if (done === true) break;
      if (restrictedTo !== undefined) this.#sinks.rate.take(restrictedTo);
      if (value) body.accepted += 1;
      else body.refused += 1;
      if (count % CHECK_EVERY === 0 && performance.now() >= until) return false;
    }
    this.#accepted += body.accepted;
    this.#refused += body.refused;
    body.onDone?.({ kind: "read", accepted: body.accepted, refused: body.refused });
    return true;
  }
}

/** Bodies below this size are parsed without counting their objects first. */
const SMALL_BYTES = 256 * 1024;
/** Maximum number of objects and lists in one body. Each takes about sixty bytes after parsing, even if it is empty. */
const MAX_CONTAINERS = 500_000;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Parses OTLP/JSON. Throws SyntaxError, or TooMuchError if the body would take too much memory. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length > SMALL_BYTES) {
    let containers = 0;
    // Brackets inside strings are counted too. That does no harm, because real bodies have few of them.
    for (const byte of bytes) if (byte === OPEN_BRACE || byte === OPEN_BRACKET) containers += 1;
    if (containers > MAX_CONTAINERS)
      throw new TooMuchError(`the body has more than ${MAX_CONTAINERS} objects and lists`);
  }
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
}
