import { isUtf8 } from "node:buffer";

/** Texts up to this size are read here; the library unmasks larger ones by compiled code. */
const MAX_TEXT_BYTES = 4 * 1024;
/** Longest header of a frame with a mask. RFC 6455, section 5.2. */
const MAX_HEADER_BYTES = 14;
const MASK_BYTES = 4;

const FINAL_TEXT = 0x81;
const FINAL = 0x80;
const RESERVED_BITS = 0x70;
const OPCODE_BITS = 0x0f;
const BINARY = 0x2;
const PING = 0x9;
const PONG = 0xa;
const MAX_CONTROL_BYTES = 125;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** After such a frame there is nothing to read: the peer closes, or breaks the rules, and the library says which. */
const LAST = -1;
const INCOMPLETE = -2;

export interface FrameReaderListener {
  /** One message, its UTF-8 checked; bytes of the chunk, unmasked in place. */
  onText(bytes: Buffer): void;
  /** Bytes that the library is to read. */
  toLibrary(chunk: Buffer): void;
}

/**
 * Stands between a server's socket and the WebSocket library and reads what nearly all the traffic is: whole, small, masked text frames. All else, and all
 * of a frame that is not whole in one chunk, goes to the library byte for byte, so that the library decides about everything unusual. The library spends
 * four buffers and a dozen calls on each frame, which was a tenth of what the engine does for a call.
 */
export class FrameReader {
  readonly #listener: FrameReaderListener;
  /** Bytes of the frame under way that belong to the library. */
  #passOn = 0;
  /** Beginning of a header, which the library has already. */
  #head: Buffer | undefined;
  /** The library has frames of a message that it has not told: the next frame may belong to it, or it may have found it faulty. */
  #isOwed = false;
  /** After a close frame, or one that is none, the rest is the library's. */
  #isOver = false;
  #isStopped = false;

  constructor(listener: FrameReaderListener) {
    this.#listener = listener;
  }

  /** The library tells a message. It does so before it returns from the chunk with the message's end; if it did not, all would go to the library. */
  messageCame(): void {
    this.#isOwed = false;
  }

  /** The library has given the connection up and reads no more: what still comes is dropped. */
  stop(): void {
    this.#isStopped = true;
  }

  read(chunk: Buffer): void {
    if (this.#isStopped) return;
    if (this.#head !== undefined) this.#readOnHead(chunk);
    let at = 0;
    /** From here to `at` it is the library's. */
    let libraryFrom = 0;
    while (at < chunk.length) {
      if (this.#isOver) at = chunk.length;
      else if (this.#passOn > 0) {
        const taken = Math.min(this.#passOn, chunk.length - at);
        this.#passOn -= taken;
        at += taken;
      } else {
        if (libraryFrom < at) this.#listener.toLibrary(chunk.subarray(libraryFrom, at));
        libraryFrom = at;
        const end = this.#isOwed ? 0 : endOfText(chunk, at);
        const text = end === 0 ? undefined : unmaskedText(chunk, at, end);
        if (text === undefined) at = this.#leaveToLibrary(chunk, at);
        else {
          at = end;
          libraryFrom = end;
          this.#listener.onText(text);
        }
      }
    }
    if (libraryFrom < at) this.#listener.toLibrary(libraryFrom === 0 ? chunk : chunk.subarray(libraryFrom, at));
  }

  /** A frame of the library's begins at `at`. Returns where to go on. */
  #leaveToLibrary(chunk: Buffer, at: number): number {
    const length = this.#begin(chunk.subarray(at, at + MAX_HEADER_BYTES));
    if (length === INCOMPLETE) {
      this.#head = Buffer.from(chunk.subarray(at));
      return chunk.length;
    }
    if (length === LAST) this.#isOver = true;
    else this.#passOn = length;
    return at;
  }

  /** The header goes on in this chunk. */
  #readOnHead(chunk: Buffer): void {
    const before = this.#head as Buffer;
    const head = Buffer.concat([before, chunk.subarray(0, MAX_HEADER_BYTES - before.length)]);
    const length = this.#begin(head);
    if (length === INCOMPLETE) {
      this.#head = head;
      // All of it is header.
      this.#passOn = chunk.length;
      return;
    }
    this.#head = undefined;
    if (length === LAST) this.#isOver = true;
    else this.#passOn = length - before.length;
  }

  /** Reads a header of the library's. Returns the length of its frame in bytes, header included, or LAST or INCOMPLETE. */
  #begin(head: Buffer): number {
    const length = frameLength(head);
    if (length > 0 && ((head[0] as number) & OPCODE_BITS) <= BINARY) this.#isOwed = true;
    return length;
  }
}

/** Where the frame at `at` ends, when it is a small text, whole and masked; otherwise 0. */
function endOfText(chunk: Buffer, at: number): number {
  if (chunk[at] !== FINAL_TEXT) return 0;
  const second = chunk[at + 1];
  if (second === undefined || (second & MASKED) === 0) return 0;
  const length = second & LENGTH_BITS;
  let end = at + 2 + MASK_BYTES + length;
  if (length === LENGTH_IN_TWO_BYTES) {
    if (at + 4 > chunk.length) return 0;
    const inTwoBytes = ((chunk[at + 2] as number) << 8) | (chunk[at + 3] as number);
    if (inTwoBytes > MAX_TEXT_BYTES) return 0;
    end = at + 4 + MASK_BYTES + inTwoBytes;
  } else if (length === LENGTH_IN_EIGHT_BYTES) return 0;
  return end <= chunk.length ? end : 0;
}

/** The text of a frame for which `endOfText` told the end; undefined, and the bytes as they were, when it is not UTF-8. */
function unmaskedText(chunk: Buffer, at: number, end: number): Buffer | undefined {
  const maskAt = at + (((chunk[at + 1] as number) & LENGTH_BITS) === LENGTH_IN_TWO_BYTES ? 4 : 2);
  const start = maskAt + MASK_BYTES;
  applyMask(chunk, maskAt, start, end);
  const text = chunk.subarray(start, end);
  if (isUtf8(text)) return text;
  applyMask(chunk, maskAt, start, end);
  return undefined;
}

/** Twice is as good as not at all. */
function applyMask(chunk: Buffer, maskAt: number, start: number, end: number): void {
  const first = chunk[maskAt] as number;
  const second = chunk[maskAt + 1] as number;
  const third = chunk[maskAt + 2] as number;
  const fourth = chunk[maskAt + 3] as number;
  let at = start;
  for (const wholeEnd = start + ((end - start) & ~3); at < wholeEnd; at += 4) {
    chunk[at] = (chunk[at] as number) ^ first;
    chunk[at + 1] = (chunk[at + 1] as number) ^ second;
    chunk[at + 2] = (chunk[at + 2] as number) ^ third;
    chunk[at + 3] = (chunk[at + 3] as number) ^ fourth;
  }
  for (let rest = 0; at < end; at++, rest++) chunk[at] = (chunk[at] as number) ^ (chunk[maskAt + rest] as number);
}

function frameLength(head: Buffer): number {
  const [first, second] = head;
  if (first === undefined || second === undefined) return INCOMPLETE;
  const opcode = first & OPCODE_BITS;
  const length = second & LENGTH_BITS;
  if ((first & RESERVED_BITS) !== 0 || (second & MASKED) === 0) return LAST;
  if (opcode === PING || opcode === PONG) {
    if ((first & FINAL) === 0 || length > MAX_CONTROL_BYTES) return LAST;
  } else if (opcode > BINARY) return LAST;
  if (length < LENGTH_IN_TWO_BYTES) return 2 + MASK_BYTES + length;
  if (length === LENGTH_IN_TWO_BYTES) return head.length < 4 ? INCOMPLETE : 4 + MASK_BYTES + head.readUInt16BE(2);
  if (head.length < 10) return INCOMPLETE;
  // Nobody sends 4 GB in one frame.
  return head.readUInt32BE(2) === 0 ? 10 + MASK_BYTES + head.readUInt32BE(6) : LAST;
}
