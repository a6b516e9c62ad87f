import type { Signal } from "../../../kernel/telemetry-contract.ts";
import type { DropCounter, LogSink, MetricSink, SpanSink } from "../model.ts";
import { checkShape } from "./check-shape.ts";
import { decode } from "./decode.ts";
import type { Origin } from "./decode-context.ts";
import type { RecordRate } from "./record-rate.ts";

/** Bytes that wait to be read, of all sources, of all restricted ones, and of one. A frame may have 16 MiB. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
const MAX_WAITING_BYTES_OF_RESTRICTED = 16 * 1024 * 1024;
const MAX_WAITING_BYTES_PER_SOURCE = 16 * 1024 * 1024;
/** How long reading goes on before others have their turn, and how long it then stays away: four times as long, a fifth of the loop at most. */
const SLICE_MS = 4;
const REST_PER_SLICE = 4;
/** Records between two looks at the time. */
const LOOK_EVERY = 16;

export interface IngestSinks {
  readonly spans: SpanSink;
  readonly logs: LogSink;
  readonly metrics: MetricSink;
  readonly drops: DropCounter;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
  /** Of restricted principals. */
  readonly rate: RecordRate;
}

export type IngestOutcome =
  | { readonly kind: "read"; readonly accepted: number; readonly refused: number }
  /** The body is not what it should be. */
  | { readonly kind: "malformed"; readonly message: string }
  /** It is, and holds too much. */
  | { readonly kind: "too_much"; readonly message: string };

/** Thrown by `parse` for a body that is too much to be read, however well-formed. */
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

const DROPPED = { traces: "spans", logs: "logs", metrics: "metrics" } as const;

/**
 * Reads telemetry from outside a little at a time, source by source in turn, so that who sends much keeps neither calls nor other sources waiting.
 * Bounded by bytes; what does not fit is dropped and counted (K13, L-1).
 */
export class Ingest {
  readonly #sinks: IngestSinks;
  /** By source, in the order of their turns. */
  readonly #waiting = new Map<string, WaitingBody[]>();
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;
  #restrictedBytes = 0;
  #current: ReadingBody | undefined;
  /** Calls off the next turn; undefined when none is due. */
  #cancelTurn: (() => void) | undefined;
  #stopped = false;
  #accepted = 0;
  #refused = 0;

  constructor(sinks: IngestSinks) {
    this.#sinks = sinks;
  }

  /** Records since the start. */
  get counts(): { readonly accepted: number; readonly refused: number; readonly waitingBytes: number } {
    return { accepted: this.#accepted, refused: this.#refused, waitingBytes: this.#bytes };
  }

  /** False when there is no room; it is counted then, and `onDone` is not called. `source` tells who shares a turn. */
  offer(source: string, body: WaitingBody): boolean {
    const ofSource = this.#bytesOf.get(source) ?? 0;
    const restricted = body.origin.restrictedTo === undefined ? 0 : body.bytes;
    const isFull =
      this.#bytes + body.bytes > MAX_WAITING_BYTES ||
      (restricted > 0 && this.#restrictedBytes + restricted > MAX_WAITING_BYTES_OF_RESTRICTED) ||
      (ofSource > 0 && ofSource + body.bytes > MAX_WAITING_BYTES_PER_SOURCE);
    if (this.#stopped || isFull) {
      this.#sinks.drops.dropped(DROPPED[body.signal], this.#stopped ? "shutdown" : "ingest_queue_full", 1);
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

  /** Reads what waits, without rests, for so long at most; what is left is dropped. */
  stop(maxMs: number): void {
    const end = performance.now() + maxMs;
    while (performance.now() < end && this.#step(end)) {}
    this.#stopped = true;
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    for (const bodies of this.#waiting.values()) for (const { signal } of bodies) this.#sinks.drops.dropped(DROPPED[signal], "shutdown", 1);
    this.#waiting.clear();
  }

  #work(): void {
    this.#cancelTurn = undefined;
    const start = performance.now();
    const hasMore = this.#step(start + SLICE_MS);
    if (!hasMore) return;
    const rest = Math.ceil((performance.now() - start) * REST_PER_SLICE);
    const turn = setTimeout(() => this.#work(), rest).unref();
    this.#cancelTurn = () => clearTimeout(turn);
  }

  /** Works until then, or until nothing waits; false then. */
  #step(until: number): boolean {
    for (;;) {
      this.#current ??= this.#next();
      if (this.#current === undefined) return this.#waiting.size > 0;
      if (!this.#read(this.#current, until)) return true;
      this.#current = undefined;
      if (performance.now() >= until) return this.#waiting.size > 0;
    }
  }

  /** The next source's first body, parsed; undefined when there is none, or when it could not be parsed. */
  #next(): ReadingBody | undefined {
    const [source, bodies] = this.#waiting.entries().next().value ?? [];
    if (source === undefined || bodies === undefined) return undefined;
    const body = bodies.shift() as WaitingBody;
    this.#waiting.delete(source);
    this.#bytes -= body.bytes;
    if (body.origin.restrictedTo !== undefined) this.#restrictedBytes -= body.bytes;
    const left = (this.#bytesOf.get(source) ?? 0) - body.bytes;
    if (bodies.length > 0) {
      // To the end of the line.
      this.#waiting.set(source, bodies);
      this.#bytesOf.set(source, left);
    } else {
      this.#bytesOf.delete(source);
    }
    const { spans, logs, metrics, drops, now } = this.#sinks;
    const { restrictedTo } = body.origin;
    if (restrictedTo !== undefined && this.#sinks.rate.isSpent(restrictedTo)) {
      drops.dropped(DROPPED[body.signal], "principal_rate", 1);
      body.onDone?.({ kind: "read", accepted: 0, refused: 1 });
      return undefined;
    }
    try {
      const parsed = body.parse();
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new SyntaxError("the body is no object");
      checkShape(body.signal, parsed);
      const context = { origin: body.origin, spans, logs, metrics, drops, nowNanos: BigInt(Math.round(now())) * 1_000_000n };
      return { ...body, records: decode(body.signal, parsed, context), accepted: 0, refused: 0 };
    } catch (error) {
      const isTooMuch = error instanceof TooMuchError;
      drops.dropped(DROPPED[body.signal], isTooMuch ? "too_much" : "malformed_body", 1);
      body.onDone?.({ kind: isTooMuch ? "too_much" : "malformed", message: (error as Error).message });
      return undefined;
    }
  }

  /** False when the time is up first. */
  #read(body: ReadingBody, until: number): boolean {
    const { restrictedTo } = body.origin;
    for (let count = 1; ; count += 1) {
      if (restrictedTo !== undefined && this.#sinks.rate.isSpent(restrictedTo)) {
        // How many records are left is not known without reading them.
        this.#sinks.drops.dropped(DROPPED[body.signal], "principal_rate", 1);
        body.refused += 1;
        break;
      }
      const { done, value } = body.records.next();
      if (done === true) break;
      if (restrictedTo !== undefined) this.#sinks.rate.take(restrictedTo);
      if (value) body.accepted += 1;
      else body.refused += 1;
      if (count % LOOK_EVERY === 0 && performance.now() >= until) return false;
    }
    this.#accepted += body.accepted;
    this.#refused += body.refused;
    body.onDone?.({ kind: "read", accepted: body.accepted, refused: body.refused });
    return true;
  }
}
