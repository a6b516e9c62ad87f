import type { z } from "zod";
import { MAX_FRAME_BYTES } from "./limits.ts";
import {
  type NodeFrame,
  type NodeFrameType,
  type NodeHello,
  type NodeMessageHead,
  nodeFrameSchemas,
  nodeHelloSchema,
  nodeMessageHeadSchema,
} from "./node-messages.ts";

/*
 * Layout of the messages between nodes (the engines of a cluster). Numbers are big-endian.
 *
 *   message  = kind (1 byte: 1 numbered, 2 hello), head length (4), head (JSON), pieces
 *   piece    = last (1 byte: 1, or 0 if the frame continues in the next piece), length (4), bytes
 *   frame    = head length (4), head (JSON), payload (the rest)
 */

/** Maximum size of a message, in bytes. */
export const MAX_NODE_MESSAGE_BYTES = 512 * 1024;
/** Maximum size of a frame, in bytes. A call's payload and metadata together can be as large as a frame of a worker. */
export const MAX_NODE_FRAME_BYTES = MAX_FRAME_BYTES + 1024 * 1024;
/** Maximum size of the head of a message, in bytes. */
const MAX_HEAD_BYTES = 1024;
const PIECE_HEAD_BYTES = 5;
/** Maximum number of bytes of pieces that fit into one message, together with their heads. */
export const MAX_PIECES_BYTES = MAX_NODE_MESSAGE_BYTES - MAX_HEAD_BYTES - PIECE_HEAD_BYTES;

const NUMBERED = 1;
const HELLO = 2;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A frame, or a part of one, in a message. */
export interface NodePiece {
  readonly isLast: boolean;
  readonly bytes: Uint8Array;
}

export type NodeMessage =
  | { readonly kind: "numbered"; readonly head: NodeMessageHead; readonly pieces: readonly NodePiece[] }
  | { readonly kind: "hello"; readonly hello: NodeHello };

/** A frame and its payload. `payload` is empty if there is no payload. */
export interface NodeFrameBody {
  readonly frame: NodeFrame;
  readonly payload: Uint8Array;
}

/** Why bytes are not a message or a frame. `unknown`: a newer version may send it, so it is ignored. */
export interface UndecodableNodeBytes {
  readonly problem: string;
  readonly unknown?: true;
}

const NO_BYTES = new Uint8Array(0);

export function encodeNodeFrame(frame: NodeFrame, payload: Uint8Array = NO_BYTES): Uint8Array {
  const head = encoder.encode(JSON.stringify(frame));
  const bytes = new Uint8Array(4 + head.length + payload.length);
  writeLength(bytes, 0, head.length);
  bytes.set(head, 4);
  bytes.set(payload, 4 + head.length);
  return bytes;
}

/** Decodes a frame. The payload is a view of `bytes`. */
export function decodeNodeFrame(bytes: Uint8Array): NodeFrameBody | UndecodableNodeBytes {
  const end = bytes.length < 4 ? -1 : 4 + readLength(bytes, 0);
  if (end < 4 || end > bytes.length) return { problem: "the frame is cut off" };
  const raw = parseJson(bytes.subarray(4, end));
  const type = typeof raw === "object" && raw !== null && "type" in raw ? raw.type : undefined;
  if (typeof type !== "string") return { problem: "the frame has no type" };
  if (!Object.hasOwn(nodeFrameSchemas, type))
    return { problem: `unknown frame type ${JSON.stringify(type.slice(0, 64))}`, unknown: true };
  const parsed = nodeFrameSchemas[type as NodeFrameType].safeParse(raw);
  if (!parsed.success) return { problem: `${type}: ${firstIssue(parsed.error)}` };
  return { frame: parsed.data as NodeFrame, payload: bytes.subarray(end) };
}

/** Returns the number of bytes that a piece takes in a message. */
export function nodePieceBytes({ bytes }: NodePiece): number {
  return PIECE_HEAD_BYTES + bytes.length;
}

/** Returns the frame's pieces, each of which fits into a message. */
export function splitNodeFrame(frame: Uint8Array): NodePiece[] {
  const size = MAX_PIECES_BYTES - PIECE_HEAD_BYTES;
  const pieces: NodePiece[] = [];
  for (let at = 0; at === 0 || at < frame.length; at += size)
    pieces.push({ isLast: at + size >= frame.length, bytes: frame.subarray(at, at + size) });
  return pieces;
}

export function encodeNodeMessage(head: NodeMessageHead, pieces: readonly NodePiece[]): Uint8Array {
  const headBytes = encoder.encode(JSON.stringify(head));
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + nodePieceBytes(piece), 5 + headBytes.length));
  let at = writeHead(bytes, NUMBERED, headBytes);
  for (const piece of pieces) {
    bytes[at] = piece.isLast ? 1 : 0;
    writeLength(bytes, at + 1, piece.bytes.length);
    bytes.set(piece.bytes, at + PIECE_HEAD_BYTES);
    at += nodePieceBytes(piece);
  }
  return bytes;
}

/** Encodes a message to all nodes. */
export function encodeNodeHello(hello: NodeHello): Uint8Array {
  const head = encoder.encode(JSON.stringify(hello));
  const bytes = new Uint8Array(5 + head.length);
  writeHead(bytes, HELLO, head);
  return bytes;
}

/** Decodes a message. The pieces are views of `bytes`. */
export function decodeNodeMessage(bytes: Uint8Array): NodeMessage | UndecodableNodeBytes {
  if (bytes.length > MAX_NODE_MESSAGE_BYTES) return { problem: `the message has ${bytes.length} bytes` };
  const end = bytes.length < 5 ? -1 : 5 + readLength(bytes, 1);
  if (end < 5 || end > bytes.length) return { problem: "the message is cut off" };
  const raw = parseJson(bytes.subarray(5, end));
  if (bytes[0] === HELLO) {
    const hello = nodeHelloSchema.safeParse(raw);
    return hello.success ? { kind: "hello", hello: hello.data } : { problem: `hello: ${firstIssue(hello.error)}` };
  }
  if (bytes[0] !== NUMBERED) return { problem: `unknown kind of message ${bytes[0]}`, unknown: true };
  const head = nodeMessageHeadSchema.safeParse(raw);
  if (!head.success) return { problem: `head: ${firstIssue(head.error)}` };
  const pieces: NodePiece[] = [];
  for (let at = end; at < bytes.length; ) {
    const start = at + PIECE_HEAD_BYTES;
    const pieceEnd = start > bytes.length ? -1 : start + readLength(bytes, at + 1);
    if (pieceEnd < start || pieceEnd > bytes.length) return { problem: "a piece of the message is cut off" };
    pieces.push({ isLast: bytes[at] === 1, bytes: bytes.subarray(start, pieceEnd) });
    at = pieceEnd;
  }
  return { kind: "numbered", head: head.data, pieces };
}

function writeHead(bytes: Uint8Array, kind: number, head: Uint8Array): number {
  bytes[0] = kind;
  writeLength(bytes, 1, head.length);
  bytes.set(head, 5);
  return 5 + head.length;
}

function writeLength(bytes: Uint8Array, at: number, length: number): void {
  bytes[at] = length >>> 24;
  bytes[at + 1] = length >>> 16;
  bytes[at + 2] = length >>> 8;
  bytes[at + 3] = length;
}

function readLength(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4);
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** Returns undefined if the bytes are not JSON in UTF-8. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

function firstIssue({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return "malformed";
  return issue.path.length === 0 ? issue.message : `\`${issue.path.join(".")}\`: ${issue.message}`;
}
