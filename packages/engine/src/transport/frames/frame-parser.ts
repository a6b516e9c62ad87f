import { isUtf8 } from "node:buffer";
import {
  CLOSE_CODE,
  FINAL,
  type FrameHeader,
  LENGTH_IN_EIGHT_BYTES,
  LENGTH_IN_TWO_BYTES,
  MASK_BYTES,
  MAX_HEADER_BYTES,
  OPCODE,
  parseHeader,
  type Violation,
} from "./frame-header.ts";
import { PayloadPieces } from "./payload-pieces.ts";
import { unmask, wordsBelow } from "./unmask.ts";

const FINAL_TEXT = FINAL | OPCODE.text;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
/** Length of the close code at the beginning of a close frame's payload, in bytes. */
const CODE_BYTES = 2;

export type MessageKind = "text" | "binary";

export interface FrameParserListener {
  /** Called for each complete message; text is valid UTF-8. `bytes` may be a view of the chunk passed to `read`. */
  onMessage(bytes: Buffer, kind: MessageKind): void;
  onPing(payload: Buffer): void;
  onPong(): void;
  /** Called for the peer's close frame, with code 1005 if the frame has none. No other call follows. */
  onClose(code: number, reason: string): void;
  /** Called if the peer violates the protocol. No other call follows. */
  onViolation(violation: Violation): void;
}

/** Parses the frames of a client on a WebSocket without extensions. RFC 6455, section 5. */
export class FrameParser {
  readonly #listener: FrameParserListener;
  readonly #maxMessageBytes: number;
  /** Received part of an incomplete frame header. */
  #partialHeader: Buffer | undefined;
  /** Header of the frame whose payload is being received. */
  #frame: FrameHeader | undefined;
  #payloadLeft = 0;
  /** Received part of the payload, if the frame is a control frame. */
  #control: PayloadPieces | undefined;
  /** Kind of the fragmented message that is being received. */
  #kind: MessageKind | undefined;
  #message: PayloadPieces | undefined;
  #isOver = false;

  constructor(listener: FrameParserListener, maxMessageBytes: number) {
    this.#listener = listener;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Stops parsing. Later input is ignored. */
  stop(): void {
    this.#isOver = true;
  }

  /** Parses a chunk that the socket received. Unmasks payloads in place. */
  read(chunk: Buffer): void {
    let at = 0;
    const words = wordsBelow(chunk);
    while (at < chunk.length && !this.#isOver) {
      if (this.#frame !== undefined) at = this.#readPayload(this.#frame, chunk, words, at);
      else at = this.#readWholeText(chunk, words, at) ?? this.#readHeader(chunk, words, at);
    }
  }

  /**
   * Fast path for the usual case: a text message in a single frame that is completely in the chunk. Returns the
   * position after the frame, or undefined in all other cases.
   */
  #readWholeText(chunk: Buffer, words: Uint32Array, at: number): number | undefined {
    if (chunk[at] !== FINAL_TEXT || this.#partialHeader !== undefined || this.#kind !== undefined) return undefined;
    const second = chunk[at + 1];
    if (second === undefined || (second & MASKED) === 0) return undefined;
    let length = second & LENGTH_BITS;
    let maskAt = at + 2;
    if (length === LENGTH_IN_EIGHT_BYTES) return undefined;
    if (length === LENGTH_IN_TWO_BYTES) {
      if (at + 4 > chunk.length) return undefined;
      length = ((chunk[at + 2] as number) << 8) | (chunk[at + 3] as number);
      maskAt = at + 4;
    }
    const start = maskAt + MASK_BYTES;
    const end = start + length;
    if (end > chunk.length || length > this.#maxMessageBytes) return undefined;
    unmask(chunk, words, start, end, chunk, maskAt, 0);
    this.#emit(chunk.subarray(start, end), "text");
    return end;
  }

  #readHeader(chunk: Buffer, words: Uint32Array, at: number): number {
    const before = this.#partialHeader;
    const rest = chunk.subarray(at, at + MAX_HEADER_BYTES - (before?.length ?? 0));
    const bytes = before === undefined ? rest : Buffer.concat([before, rest]);
    const header = parseHeader(bytes, {
      isFragmented: this.#kind !== undefined,
      maxPayloadBytes: this.#maxMessageBytes - (this.#message?.bytes ?? 0),
    });
    if (header === undefined) {
      // The bytes are copied, because a view would keep the whole chunk in memory.
      this.#partialHeader = Buffer.from(bytes);
      return at + rest.length;
    }
    this.#partialHeader = undefined;
    if ("code" in header) {
      this.#violate(header);
      return chunk.length;
    }
    this.#payloadLeft = header.payloadBytes;
    const payloadAt = at + header.bytes - (before?.length ?? 0);
    if (header.payloadBytes <= chunk.length - payloadAt) return this.#readPayload(header, chunk, words, payloadAt);
    // The mask is copied, because `header.mask` is a view of the chunk.
    this.#frame = { ...header, mask: Buffer.from(header.mask) };
    return payloadAt;
  }

  /** Reads the part of the frame's payload that is in the chunk. Returns the position after it. */
  #readPayload(frame: FrameHeader, chunk: Buffer, words: Uint32Array, at: number): number {
    const end = Math.min(chunk.length, at + this.#payloadLeft);
    unmask(chunk, words, at, end, frame.mask, 0, frame.payloadBytes - this.#payloadLeft);
    const piece = chunk.subarray(at, end);
    this.#payloadLeft -= piece.length;
    const isEnd = this.#payloadLeft === 0;
    this.#frame = isEnd ? undefined : frame;
    if (frame.opcode >= OPCODE.close) this.#controlPiece(frame, piece, isEnd);
    else this.#messagePiece(frame, piece, isEnd && frame.isFinal);
    return end;
  }

  #controlPiece({ opcode }: FrameHeader, piece: Buffer, isEnd: boolean): void {
    if (!isEnd) {
      this.#control = withPiece(this.#control, piece);
      return;
    }
    const payload = this.#control === undefined ? piece : withPiece(this.#control, piece).join();
    this.#control = undefined;
    if (opcode === OPCODE.ping) this.#listener.onPing(payload);
    else if (opcode === OPCODE.pong) this.#listener.onPong();
    else this.#close(payload);
  }

  #messagePiece({ opcode }: FrameHeader, piece: Buffer, isEnd: boolean): void {
    const kind = this.#kind ?? (opcode === OPCODE.text ? "text" : "binary");
    if (!isEnd) {
      this.#kind = kind;
      this.#message = withPiece(this.#message, piece);
      return;
    }
    const message = this.#message === undefined ? piece : withPiece(this.#message, piece).join();
    this.#kind = undefined;
    this.#message = undefined;
    this.#emit(message, kind);
  }

  #emit(message: Buffer, kind: MessageKind): void {
    if (kind === "text" && !isUtf8(message))
      this.#violate({ code: CLOSE_CODE.invalidText, reason: "the text is not valid UTF-8" });
    else this.#listener.onMessage(message, kind);
  }

  /** Handles the payload of a close frame (RFC 6455, section 5.5.1). */
  #close(payload: Buffer): void {
    if (payload.length === 0) {
      this.#isOver = true;
      this.#listener.onClose(CLOSE_CODE.noStatus, "");
      return;
    }
    const code = payload.length < CODE_BYTES ? 0 : payload.readUInt16BE(0);
    const reason = payload.subarray(CODE_BYTES);
    if (!isCloseCode(code))
      this.#violate({ code: CLOSE_CODE.protocolError, reason: "the close frame has no valid code" });
    else if (!isUtf8(reason))
      this.#violate({ code: CLOSE_CODE.invalidText, reason: "the close frame's reason is not valid UTF-8" });
    else {
      this.#isOver = true;
      this.#listener.onClose(code, reason.toString("utf8"));
    }
  }

  #violate(violation: Violation): void {
    this.#isOver = true;
    this.#listener.onViolation(violation);
  }
}

function withPiece(pieces = new PayloadPieces(), piece: Buffer): PayloadPieces {
  pieces.add(piece);
  return pieces;
}

/** Returns whether a peer may send the close code (RFC 6455, section 7.4, and the IANA registry of close codes). */
function isCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999;
  return code >= 1000 && code <= 1014 && code !== 1004 && code !== CLOSE_CODE.noStatus && code !== CLOSE_CODE.abnormal;
}
