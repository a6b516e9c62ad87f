import { type Frame, frameBytes, frameText } from "@svc-runtime/protocol";
import type { TappedMessage, TapTotals } from "@svc-runtime/protocol/listings";
import type { Clock } from "../kernel/clock.ts";
import type { SystemStream, SystemStreamSpec } from "../kernel/stream-contract.ts";
import { SYSTEM_GROUP } from "./stream-path.ts";

/** The system stream that shows all messages of all stream connections. */
export const TAP_STREAM = "svc.stream.messages";

/**
 * Interval of the batches in which messages are published, in milliseconds. A batch has a maximum number of messages
 * and of characters.
 */
const BATCH_MS = 100;
const MAX_MESSAGES = 500;
const MAX_BATCH_SIZE = 256 * 1024;
/**
 * Token bucket for the messages that are shown: rate per second, and burst. Further messages are counted and dropped.
 * The burst is less than the 1 MiB that the engine buffers for a client that watches.
 */
const RATE = { messages: 5_000, size: 2.5 * 1024 * 1024 };
const BURST = { messages: 2_500, size: 768 * 1024 };
/** Approximate size of a message in a batch without its payload, in characters. */
const FACTS_SIZE = 200;
/** Maximum number of UTF-8 bytes shown of each message. */
const MAX_PAYLOAD_BYTES = 4 * 1024;

/** Properties of a message that the code that sends or receives it knows. */
export type MessageFacts = Pick<TappedMessage, "stream" | "group" | "type">;

/** Publishes the messages of all stream connections, except the messages of its own stream. */
export class Tap {
  readonly #clock: Clock;
  #stream: SystemStream | undefined;
  /** Messages since the last flush; the newest batch is last. */
  #batches: TappedMessage[][] = [];
  /** Size of the newest batch, in characters. */
  #size = 0;
  #dropped = 0;
  readonly #totals = { inbound: 0, outbound: 0, inbound_bytes: 0, outbound_bytes: 0, dropped: 0 };
  /** Totals at the last flush. Later messages are part of the next flush. */
  #flushedTotals: Required<TapTotals> = { ...this.#totals };
  #tokens = { ...BURST };
  #refilledAt = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the stream for publishing. */
  publishTo(stream: SystemStream): void {
    this.#stream = stream;
  }

  /** True if the stream has subscribers. If not, messages need not be recorded. */
  get isWatched(): boolean {
    return this.#stream !== undefined && this.#stream.subscribers > 0;
  }

  /** The totals that a client gets when it joins. */
  get totals(): TapTotals {
    return this.#flushedTotals;
  }

  inbound(connectionId: string, text: string, facts: MessageFacts): void {
    this.#record("inbound", connectionId, facts, text);
  }

  outbound(connectionId: string, frame: Frame, facts: MessageFacts): void {
    this.#record("outbound", connectionId, facts, frame);
  }

  #record(direction: TappedMessage["direction"], connectionId: string, facts: MessageFacts, frame: Frame): void {
    if (!this.isWatched || facts.stream === TAP_STREAM) return;
    if (this.#cancel === undefined) {
      this.#cancel = this.#clock.after(BATCH_MS, () => this.#flush());
      this.#refill();
    }
    const bytes = typeof frame === "string" ? Buffer.byteLength(frame) : frameBytes(frame);
    this.#totals[direction]++;
    this.#totals[`${direction}_bytes`] += bytes;
    if (this.#tokens.messages < 1 || this.#tokens.size <= 0) {
      this.#dropped++;
      return;
    }
    const truncated = bytes > MAX_PAYLOAD_BYTES;
    const payload = truncated
      ? beginningOf(typeof frame === "string" ? [Buffer.from(frame)] : frame)
      : frameText(frame);
    const { stream, group, type } = facts;
    this.#addToBatch({
      direction,
      timestamp: this.#clock.now(),
      connection_id: connectionId,
      stream,
      group,
      type,
      bytes,
      payload,
      truncated,
    });
  }

  #addToBatch(message: TappedMessage): void {
    const size = message.payload.length + FACTS_SIZE;
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.length >= MAX_MESSAGES || this.#size + size > MAX_BATCH_SIZE) {
      batch = [];
      this.#batches.push(batch);
      this.#size = 0;
    }
    batch.push(message);
    this.#size += size;
    this.#tokens.messages--;
    this.#tokens.size -= size;
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    const seconds = (now - this.#refilledAt) / 1_000;
    this.#refilledAt = now;
    this.#tokens = {
      messages: Math.min(BURST.messages, this.#tokens.messages + RATE.messages * seconds),
      size: Math.min(BURST.size, this.#tokens.size + RATE.size * seconds),
    };
  }

  /** Publishes all batches. The last batch has the totals, which include all these messages. */
  #flush(): void {
    this.#cancel = undefined;
    const batches = this.#batches;
    const last = batches.pop() ?? [];
    this.#totals.dropped += this.#dropped;
    this.#flushedTotals = { ...this.#totals };
    for (const messages of batches) this.#publish({ messages, dropped: 0 });
    this.#publish({ messages: last, dropped: this.#dropped, totals: this.#flushedTotals });
    this.#batches = [];
    this.#size = 0;
    this.#dropped = 0;
  }

  #publish(data: {
    readonly messages: readonly TappedMessage[];
    readonly dropped: number;
    readonly totals?: TapTotals;
  }): void {
    this.#stream?.publish({ id: null, type: "event", json: JSON.stringify({ type: "messages", data }) });
  }
}

/** Returns the first MAX_PAYLOAD_BYTES bytes as a string, without an incomplete character at the end. */
function beginningOf(pieces: readonly Uint8Array[]): string {
  const first = pieces[0] ?? new Uint8Array();
  const bytes =
    first.byteLength >= MAX_PAYLOAD_BYTES
      ? first.subarray(0, MAX_PAYLOAD_BYTES)
      : Buffer.concat(pieces).subarray(0, MAX_PAYLOAD_BYTES);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

export function tapSpec(tap: Tap): SystemStreamSpec {
  const snapshot = (id: string | undefined): string =>
    id === undefined ? JSON.stringify([{ id: "totals", ...tap.totals }]) : "null";
  return {
    name: TAP_STREAM,
    summary: `Every message of every stream connection, in batches, with totals; group ${SYSTEM_GROUP}`,
    snapshot,
  };
}
