import { clientHeaderBytes, encodeClientFrame, OPCODE, patchMasked } from "./websocket-client.ts";

/** Length of an invocation id: a UUID. */
export const ID_BYTES = 36;
const ID_PLACEHOLDER = "00000000-0000-4000-8000-000000000000";
const HEX = Buffer.from("0123456789abcdef");

/** A client frame that is encoded and masked once, and sent many times with different invocation ids. */
export class FrameTemplate {
  readonly #frame: Buffer;
  readonly #payloadStart: number;
  readonly #idOffset: number;

  /** `write` receives a placeholder for the invocation id and returns the frame's text. */
  constructor(write: (invocationId: string) => string) {
    const payload = Buffer.from(write(ID_PLACEHOLDER));
    this.#idOffset = payload.indexOf(ID_PLACEHOLDER);
    if (this.#idOffset === -1) throw new Error("the frame has no place for an invocation id");
    this.#payloadStart = clientHeaderBytes(payload.length);
    this.#frame = encodeClientFrame(OPCODE.text, payload);
  }

  /** Returns a copy of the frame, which the socket may keep. */
  withId(id: Uint8Array): Buffer {
    const frame = Buffer.allocUnsafe(this.#frame.length);
    this.#frame.copy(frame);
    patchMasked(frame, this.#payloadStart, this.#idOffset, id);
    return frame;
  }
}

/**
 * Invocation ids of one slot of a closed loop: UUIDs that contain a sequence number, the end of the process's id and the
 * slot's number. In a cluster, calls of several load generators meet at one engine.
 */
export class SlotIds {
  readonly #bytes: Buffer;
  #sequence = 0;

  constructor(slot: number, pid = process.pid) {
    this.#bytes = Buffer.from(ID_PLACEHOLDER);
    writeHex(this.#bytes, 24, (pid & 0xffff) * 0x1_0000);
    writeHex(this.#bytes, 28, slot);
  }

  /** Returns the next id. The next call reuses the buffer. */
  next(): Buffer {
    this.#sequence = (this.#sequence + 1) >>> 0;
    writeHex(this.#bytes, 0, this.#sequence);
    return this.#bytes;
  }
}

function writeHex(target: Buffer, at: number, value: number): void {
  for (let digit = 0; digit < 8; digit++) target[at + digit] = HEX[(value >>> (28 - digit * 4)) & 15] as number;
}

/** Returns the slot of an id of `SlotIds`, read from the id's bytes at `at`. */
export function slotOfId(bytes: Uint8Array, at: number): number {
  let slot = 0;
  for (let digit = 28; digit < ID_BYTES; digit++) {
    const code = bytes[at + digit] as number;
    slot = slot * 16 + (code <= 57 ? code - 48 : code - 87);
  }
  return slot;
}

const ID_MEMBER = Buffer.from('"invocation_id":"');
/** Maximum size of the members before the payload, and of the members after it, in bytes. */
const ENVELOPE_BYTES = 512;

/** Returns the position of the invocation id in a frame, or -1. Does not search the payload of a large frame. */
export function findInvocationId(frame: Buffer): number {
  if (frame.length <= 2 * ENVELOPE_BYTES) {
    const found = frame.indexOf(ID_MEMBER);
    return found === -1 ? -1 : found + ID_MEMBER.length;
  }
  const inHead = frame.subarray(0, ENVELOPE_BYTES).indexOf(ID_MEMBER);
  if (inHead !== -1) return inHead + ID_MEMBER.length;
  const tailStart = frame.length - ENVELOPE_BYTES;
  const inTail = frame.subarray(tailStart).indexOf(ID_MEMBER);
  return inTail === -1 ? -1 : tailStart + inTail + ID_MEMBER.length;
}
