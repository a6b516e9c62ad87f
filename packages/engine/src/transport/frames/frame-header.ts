// The header of a WebSocket frame. RFC 6455, section 5.2.

export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;
/** First byte of a frame that is a whole message. */
export const FINAL = 0x80;

/** Status codes of a close frame. RFC 6455, section 7.4.1. */
export const CLOSE_CODE = {
  normal: 1000,
  protocolError: 1002,
  noStatus: 1005,
  abnormal: 1006,
  invalidText: 1007,
  tooLarge: 1009,
} as const;

/** Maximum payload of a control frame in bytes. RFC 6455, section 5.5. */
export const MAX_CONTROL_BYTES = 125;
/** Maximum length of a header with a mask. */
export const MAX_HEADER_BYTES = 14;
export const MASK_BYTES = 4;

const RESERVED_BITS = 0x70;
const OPCODE_BITS = 0x0f;
const CONTROL_BIT = 0x08;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
export const LENGTH_IN_TWO_BYTES = 126;
export const LENGTH_IN_EIGHT_BYTES = 127;

/** The close code and reason for a frame that violates the protocol. */
export interface Violation {
  readonly code: number;
  readonly reason: string;
}

export interface FrameHeader {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payloadBytes: number;
  readonly mask: Uint8Array;
  /** Length of the header itself, in bytes. */
  readonly bytes: number;
}

/** State of the parser that decides which headers are valid. */
export interface HeaderContext {
  /** Whether a message in several frames has begun. */
  readonly isFragmented: boolean;
  /** Maximum payload of a data frame, in bytes. Smaller if parts of its message have been received already. */
  readonly maxPayloadBytes: number;
}

/** Parses the header of a client's frame. Returns undefined if more bytes are needed. */
export function parseHeader(bytes: Buffer, context: HeaderContext): FrameHeader | Violation | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const opcode = first & OPCODE_BITS;
  const isFinal = (first & FINAL) !== 0;
  const shortLength = second & LENGTH_BITS;
  const problem = problemOf(first, second, context);
  if (problem !== undefined) return { code: CLOSE_CODE.protocolError, reason: problem };
  let payloadBytes = shortLength;
  let at = 2;
  if (shortLength === LENGTH_IN_TWO_BYTES) {
    if (bytes.length < 4) return undefined;
    payloadBytes = bytes.readUInt16BE(2);
    at = 4;
  } else if (shortLength === LENGTH_IN_EIGHT_BYTES) {
    if (bytes.length < 10) return undefined;
    // The number is exact up to 2^53. Above, this does not matter, because the payload is refused as too large.
    payloadBytes = bytes.readUInt32BE(2) * 2 ** 32 + bytes.readUInt32BE(6);
    at = 10;
  }
  if (payloadBytes > context.maxPayloadBytes && (opcode & CONTROL_BIT) === 0) {
    return { code: CLOSE_CODE.tooLarge, reason: "the message is too large" };
  }
  if (bytes.length < at + MASK_BYTES) return undefined;
  return { opcode, isFinal, payloadBytes, mask: bytes.subarray(at, at + MASK_BYTES), bytes: at + MASK_BYTES };
}

/** Returns how the first two bytes violate the protocol, or undefined. */
function problemOf(first: number, second: number, { isFragmented }: HeaderContext): string | undefined {
  const opcode = first & OPCODE_BITS;
  if ((first & RESERVED_BITS) !== 0) return "a reserved bit is set, and no extension was negotiated";
  if ((second & MASKED) === 0) return "frames of a client must be masked";
  if ((opcode & CONTROL_BIT) !== 0) {
    if (opcode > OPCODE.pong) return `unknown opcode ${opcode}`;
    if ((first & FINAL) === 0) return "a control frame must not be fragmented";
    if ((second & LENGTH_BITS) > MAX_CONTROL_BYTES)
      return `the payload of a control frame is over ${MAX_CONTROL_BYTES} bytes`;
    return undefined;
  }
  if (opcode > OPCODE.binary) return `unknown opcode ${opcode}`;
  if (opcode === OPCODE.continuation)
    return isFragmented ? undefined : "a continuation frame without a message to continue";
  return isFragmented ? "a message began before the one in fragments ended" : undefined;
}

/** Header of an unmasked frame, one character per byte. For payloads of up to 65,535 bytes. */
export function shortHeader(firstByte: number, payloadBytes: number): string {
  if (payloadBytes < LENGTH_IN_TWO_BYTES) return String.fromCharCode(firstByte, payloadBytes);
  return String.fromCharCode(firstByte, LENGTH_IN_TWO_BYTES, payloadBytes >> 8, payloadBytes & 0xff);
}

/** Header of an unmasked frame of any size. */
export function headerBytes(firstByte: number, payloadBytes: number): Buffer {
  if (payloadBytes < 65_536) return Buffer.from(shortHeader(firstByte, payloadBytes), "latin1");
  const bytes = Buffer.alloc(10);
  bytes[0] = firstByte;
  bytes[1] = LENGTH_IN_EIGHT_BYTES;
  bytes.writeBigUInt64BE(BigInt(payloadBytes), 2);
  return bytes;
}
