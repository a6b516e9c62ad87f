import { type Frame, frameBytes, frameText } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import type { SystemStream } from "../stream-contract.ts";
import { SYSTEM_GROUP } from "./stream-path.ts";

/** The stream of all messages of stream connections. */
export const TAP_STREAM = "svc.stream.messages";

/** Messages of one tenth of a second go out together, in milliseconds. */
const BATCH_MS = 100;
/** Of one batch; what is more is counted and left out. */
const MAX_MESSAGES = 500;
const MAX_BATCH_BYTES = 256 * 1024;
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

/** Shows what goes over stream connections, except what it causes itself. */
export class Tap {
  readonly #clock: Clock;
  #stream: SystemStream | undefined;
  #batch: Seen[] = [];
  #bytes = 0;
  #dropped = 0;
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

  inbound(connectionId: string, text: string, facts: MessageFacts): void {
    this.#saw("inbound", connectionId, facts, () => Buffer.from(text));
  }

  outbound(connectionId: string, frame: Frame, facts: MessageFacts): void {
    this.#saw("outbound", connectionId, facts, () =>
      typeof frame === "string" || frameBytes(frame) <= MAX_PAYLOAD_BYTES ? Buffer.from(frameText(frame)) : frame,
    );
  }

  #saw(direction: Seen["direction"], connectionId: string, facts: MessageFacts, bytesOf: () => Buffer | readonly Uint8Array[]): void {
    if (!this.isWatched || facts.stream === TAP_STREAM) return;
    this.#cancel ??= this.#clock.after(BATCH_MS, () => this.#flush());
    if (this.#batch.length >= MAX_MESSAGES || this.#bytes > MAX_BATCH_BYTES) {
      this.#dropped++;
      return;
    }
    const bytes = bytesOf();
    const pieces = Buffer.isBuffer(bytes) ? [bytes] : bytes;
    const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    const truncated = size > MAX_PAYLOAD_BYTES;
    const payload = truncated ? beginningOf(pieces) : Buffer.concat(pieces).toString("utf8");
    this.#bytes += payload.length;
    const { stream, group, type } = facts;
    this.#batch.push({ direction, timestamp: this.#clock.now(), connection_id: connectionId, stream, group, type, bytes: size, payload, truncated });
  }

  #flush(): void {
    this.#cancel = undefined;
    const data = { messages: this.#batch, dropped: this.#dropped };
    this.#batch = [];
    this.#bytes = 0;
    this.#dropped = 0;
    this.#stream?.publish({ id: null, type: "event", json: JSON.stringify({ type: "messages", data }) });
  }
}

/** The first bytes, without a character that was cut. */
function beginningOf(pieces: readonly Uint8Array[]): string {
  const first = pieces[0] ?? new Uint8Array();
  const bytes = first.byteLength >= MAX_PAYLOAD_BYTES ? first.subarray(0, MAX_PAYLOAD_BYTES) : Buffer.concat(pieces).subarray(0, MAX_PAYLOAD_BYTES);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

export const TAP_SPEC = {
  name: TAP_STREAM,
  summary: `Every message of every stream connection, in batches; group ${SYSTEM_GROUP}`,
  snapshot: (id: string | undefined): string => (id === undefined ? "[]" : "null"),
};
