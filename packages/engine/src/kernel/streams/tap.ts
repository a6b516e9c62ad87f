import { type Frame, frameBytes, frameText } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import type { SystemStream, SystemStreamSpec } from "../stream-contract.ts";
import { SYSTEM_GROUP } from "./stream-path.ts";

/** The stream of all messages of stream connections. */
export const TAP_STREAM = "svc.stream.messages";

/** Messages of one tenth of a second go out together, in milliseconds, in batches of so many messages and characters at most. */
const BATCH_MS = 100;
const MAX_MESSAGES = 500;
const MAX_BATCH_SIZE = 256 * 1024;
/** Shown in each second in the long run, and at once: what is more is counted and left out. Those who watch take 1 MiB at once. */
const RATE = { messages: 5_000, size: 2.5 * 1024 * 1024 };
const BURST = { messages: 2_500, size: 768 * 1024 };
/** What is told of a message besides its text, in characters. */
const FACTS_SIZE = 200;
/** Of each message's text, in bytes of UTF-8. */
const MAX_PAYLOAD_BYTES = 4 * 1024;

/** What a message is about; null where it is about no stream. */
export interface MessageFacts {
  readonly stream: string | null;
  readonly group: string | null;
  /** `join`, `heartbeat`, …; of stream messages what happened, e.g. `update`. */
  readonly type: string;
}

interface Seen extends MessageFacts {
  readonly direction: "inbound" | "outbound";
  /** When it passed, in milliseconds: several of a batch were not all at one time. */
  readonly timestamp: number;
  readonly connection_id: string;
  /** Of the whole message. */
  readonly bytes: number;
  /** Its text, or as much of it as is kept. */
  readonly payload: string;
  readonly truncated: boolean;
}

/** What passed while anybody watched, in this run of the engine: shown or not. */
export interface TapTotals {
  readonly inbound: number;
  readonly outbound: number;
  /** Of whole messages. */
  readonly inbound_bytes: number;
  readonly outbound_bytes: number;
  /** Of all those, the messages that were left out of their batch. */
  readonly dropped: number;
}

/** Shows what goes over stream connections, except what it causes itself. */
export class Tap {
  readonly #clock: Clock;
  #stream: SystemStream | undefined;
  /** Of the time since it was told last; the newest batch comes last. */
  #batches: Seen[][] = [];
  /** Of the newest batch, in characters. */
  #size = 0;
  #dropped = 0;
  readonly #totals = { inbound: 0, outbound: 0, inbound_bytes: 0, outbound_bytes: 0, dropped: 0 };
  /** Totals as told last: what has passed since will be told of with the next batch. */
  #told: TapTotals = { ...this.#totals };
  #room = { ...BURST };
  #roomAt = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The stream that it speaks on. */
  publishTo(stream: SystemStream): void {
    this.#stream = stream;
  }

  /** While false nothing needs to be told. */
  get isWatched(): boolean {
    return this.#stream !== undefined && this.#stream.subscribers > 0;
  }

  /** What one who joins begins to count from. */
  get totals(): TapTotals {
    return this.#told;
  }

  inbound(connectionId: string, text: string, facts: MessageFacts): void {
    this.#saw("inbound", connectionId, facts, text);
  }

  outbound(connectionId: string, frame: Frame, facts: MessageFacts): void {
    this.#saw("outbound", connectionId, facts, frame);
  }

  #saw(direction: Seen["direction"], connectionId: string, facts: MessageFacts, frame: Frame): void {
    if (!this.isWatched || facts.stream === TAP_STREAM) return;
    if (this.#cancel === undefined) {
      this.#cancel = this.#clock.after(BATCH_MS, () => this.#flush());
      this.#makeRoom();
    }
    const bytes = typeof frame === "string" ? Buffer.byteLength(frame) : frameBytes(frame);
    this.#totals[direction]++;
    this.#totals[`${direction}_bytes`] += bytes;
    if (this.#room.messages < 1 || this.#room.size <= 0) {
      this.#dropped++;
      return;
    }
    const truncated = bytes > MAX_PAYLOAD_BYTES;
    const payload = truncated ? beginningOf(typeof frame === "string" ? [Buffer.from(frame)] : frame) : frameText(frame);
    const { stream, group, type } = facts;
    this.#keep({ direction, timestamp: this.#clock.now(), connection_id: connectionId, stream, group, type, bytes, payload, truncated });
  }

  #keep(seen: Seen): void {
    const size = seen.payload.length + FACTS_SIZE;
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.length >= MAX_MESSAGES || this.#size + size > MAX_BATCH_SIZE) {
      batch = [];
      this.#batches.push(batch);
      this.#size = 0;
    }
    batch.push(seen);
    this.#size += size;
    this.#room.messages--;
    this.#room.size -= size;
  }

  #makeRoom(): void {
    const now = this.#clock.monotonic();
    const seconds = (now - this.#roomAt) / 1_000;
    this.#roomAt = now;
    this.#room = {
      messages: Math.min(BURST.messages, this.#room.messages + RATE.messages * seconds),
      size: Math.min(BURST.size, this.#room.size + RATE.size * seconds),
    };
  }

  /** The totals go with the last batch, and hold with it. */
  #flush(): void {
    this.#cancel = undefined;
    const batches = this.#batches;
    const last = batches.pop() ?? [];
    this.#totals.dropped += this.#dropped;
    this.#told = { ...this.#totals };
    for (const messages of batches) this.#publish({ messages, dropped: 0 });
    this.#publish({ messages: last, dropped: this.#dropped, totals: this.#told });
    this.#batches = [];
    this.#size = 0;
    this.#dropped = 0;
  }

  #publish(data: { readonly messages: readonly Seen[]; readonly dropped: number; readonly totals?: TapTotals }): void {
    this.#stream?.publish({ id: null, type: "event", json: JSON.stringify({ type: "messages", data }) });
  }
}

/** The first bytes, without a character that was cut. */
function beginningOf(pieces: readonly Uint8Array[]): string {
  const first = pieces[0] ?? new Uint8Array();
  const bytes = first.byteLength >= MAX_PAYLOAD_BYTES ? first.subarray(0, MAX_PAYLOAD_BYTES) : Buffer.concat(pieces).subarray(0, MAX_PAYLOAD_BYTES);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

export function tapSpec(tap: Tap): SystemStreamSpec {
  const snapshot = (id: string | undefined): string => (id === undefined ? JSON.stringify([{ id: "totals", ...tap.totals }]) : "null");
  return { name: TAP_STREAM, summary: `Every message of every stream connection, in batches, with totals; group ${SYSTEM_GROUP}`, snapshot };
}
