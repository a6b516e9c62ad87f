import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Frame, MAX_FRAME_BYTES, TOKEN_SUBPROTOCOL_PREFIX } from "@svc-runtime/protocol";
import type { FrameSocket, FrameSocketListener } from "../../kernel/frame-socket.ts";
import { refuseUpgrade } from "../listener.ts";
import {
  CLOSE_CODE,
  FINAL,
  headerBytes,
  MAX_CONTROL_BYTES,
  OPCODE,
  shortHeader,
  type Violation,
} from "./frame-header.ts";
import { FrameParser, type FrameParserListener, type MessageKind } from "./frame-parser.ts";
import { handshakeAnswer, handshakeProblem } from "./handshake.ts";

/** Maximum size of a message from a client of streams, in bytes. Small, because such a client only joins and leaves. */
export const MAX_SMALL_MESSAGE_BYTES = 64 * 1024;

const MAX_MESSAGE_BYTES = { frames: MAX_FRAME_BYTES, small: MAX_SMALL_MESSAGE_BYTES } as const;

/** How long a connection may take to close after a close frame, in milliseconds. */
const CLOSE_TIMEOUT_MS = 30_000;
/** How long `hangUp` waits until the peer has received the queued frames, in milliseconds. */
const HANG_UP_MS = 1_000;

/**
 * Text frames of up to this many characters that are sent to a socket in one turn of the event loop are joined and
 * written as one string. This costs a third less than one buffer for each frame. Larger text and binary frames are
 * written without a copy.
 */
const MAX_JOINED_CHARS = 16 * 1024;
/**
 * When this many frames are joined, they are written before the turn ends, so that the peer can process them while the
 * engine is still reading.
 */
const MAX_JOINED_FRAMES = 8;

/**
 * Above this many bytes that the operating system has not taken, larger frames wait here. What is given to the stream
 * counts as queued until the operating system has taken all of it, so it is given little at a time.
 */
const MAX_GIVEN_BYTES = 1024 * 1024;

const TEXT = FINAL | OPCODE.text;
const BINARY = FINAL | OPCODE.binary;
const CLOSE = FINAL | OPCODE.close;
const PING = FINAL | OPCODE.ping;
const PONG = FINAL | OPCODE.pong;

/**
 * Completes the handshake of an upgrade request and passes the socket to `accepted`. Refuses a malformed handshake.
 * `messages` sets the maximum size of the peer's messages: `frames` is 16 MiB, `small` is MAX_SMALL_MESSAGE_BYTES. If
 * the header of a frame announces more, the connection is closed with 1009.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
  accepted: (socket: FrameSocket) => void,
  { messages = "frames" }: { readonly messages?: keyof typeof MAX_MESSAGE_BYTES } = {},
): void {
  const problem = handshakeProblem(request);
  if (problem !== undefined) {
    refuseUpgrade(stream, problem.status, "invalid_request", problem.message, problem.headers);
    return;
  }
  // A subprotocol whose name contains a token must not be sent back.
  stream.write(handshakeAnswer(request, (protocol) => !protocol.startsWith(TOKEN_SUBPROTOCOL_PREFIX)));
  if (head.length > 0) stream.unshift(head);
  accepted(new ServerSocket(stream as Socket, request.socket.remoteAddress, MAX_MESSAGE_BYTES[messages]));
}

/** Sockets with frames that are flushed at the end of this turn of the event loop, with one system call per socket. */
const unflushed = new Set<ServerSocket>();

function flushAll(): void {
  const sockets = [...unflushed];
  unflushed.clear();
  for (const socket of sockets) socket.flush();
}

const OWNER = Symbol("owner");
/** A stream that refers to its ServerSocket, so that all streams can share one set of listener functions. */
type OwnedStream = Socket & { [OWNER]: ServerSocket };

function onData(this: Socket, chunk: Buffer): void {
  (this as OwnedStream)[OWNER].read(chunk);
}

/** The peer has closed its sending side. It may still receive. */
function onEnd(this: Socket): void {
  (this as OwnedStream)[OWNER].peerEnded();
}

function onError(this: Socket): void {
  this.destroy();
}

function onClose(this: Socket): void {
  (this as OwnedStream)[OWNER].closed();
}

/** The server's side of a WebSocket. RFC 6455. */
class ServerSocket implements FrameSocket, FrameParserListener {
  readonly remoteAddress: string | undefined;
  readonly #stream: Socket;
  readonly #parser: FrameParser;
  #listener: FrameSocketListener | undefined;
  /** Joined frames (header and text) that are not written to the stream yet. One character is one byte. */
  #joined = "";
  #joinedFrames = 0;
  /** Whole frames that wait until the stream has written what it has. */
  #waiting: (readonly Uint8Array[])[] = [];
  #waitingBytes = 0;
  #isCorked = false;
  #framesSinceDrained = 0;
  /** Payload of the latest ping, if it has not been answered yet. */
  #unansweredPing: Buffer | undefined;
  #isPongQueued = false;
  #isOpen = true;
  /** Close code and reason of the connection, once they are known. */
  #closeCode: number = CLOSE_CODE.abnormal;
  #closeReason = "";
  #hasSentClose = false;

  constructor(stream: Socket, remoteAddress: string | undefined, maxMessageBytes: number) {
    this.#stream = stream;
    this.remoteAddress = remoteAddress;
    this.#parser = new FrameParser(this, maxMessageBytes);
    // The limits of HTTP requests no longer apply.
    stream.setTimeout(0);
    stream.setNoDelay(true);
    (stream as OwnedStream)[OWNER] = this;
    stream.on("error", onError);
    stream.on("close", onClose);
  }

  listen(listener: FrameSocketListener): void {
    this.#listener = listener;
    this.#stream.on("end", onEnd);
    this.#stream.on("data", onData);
  }

  read(chunk: Buffer): void {
    this.#parser.read(chunk);
  }

  onMessage(bytes: Buffer, kind: MessageKind): void {
    this.#listener?.onFrame(bytes, kind);
  }

  onPing(payload: Buffer): void {
    if (this.#isOpen) {
      // Only the latest ping must be answered (RFC 6455, section 5.5.3). So only one payload is kept, and a peer that
      // sends pings and reads nothing cannot fill the memory.
      this.#unansweredPing = Buffer.from(payload);
      this.#flushLater();
    }
    this.#listener?.onAlive();
  }

  onPong(): void {
    this.#listener?.onAlive();
  }

  onClose(code: number, reason: string): void {
    this.#closeCode = code;
    this.#closeReason = reason;
    this.#sendClose(code === CLOSE_CODE.noStatus ? undefined : code);
    this.#stream.end();
  }

  onViolation({ code, reason }: Violation): void {
    this.#closeCode = code;
    this.#sendClose(code, reason);
    this.#stream.end();
  }

  peerEnded(): void {
    this.#giveAll();
    this.#isOpen = false;
    this.#stream.end();
    this.#endWithin(CLOSE_TIMEOUT_MS);
  }

  closed(): void {
    this.#isOpen = false;
    this.#parser.stop();
    this.#joined = "";
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#unansweredPing = undefined;
    this.#listener?.onClosed(this.#closeCode, this.#closeReason);
  }

  send(frame: Frame): void {
    if (!this.#begin()) return;
    if (typeof frame !== "string") this.#writePieces(TEXT, frame);
    else if (frame.length <= MAX_JOINED_CHARS && Buffer.byteLength(frame) === frame.length) this.#join(frame);
    else this.#writePieces(TEXT, [Buffer.from(frame)]);
  }

  sendBinary(bytes: Uint8Array): void {
    if (this.#begin()) this.#writePieces(BINARY, [bytes]);
  }

  /** Counts a frame and plans its flush at the end of this turn. Returns false if the connection is closing. */
  #begin(): boolean {
    if (!this.#isOpen) return false;
    if (this.queuedBytes === 0) this.#framesSinceDrained = 0;
    this.#framesSinceDrained++;
    this.#flushLater();
    return true;
  }

  #flushLater(): void {
    if (unflushed.size === 0) setImmediate(flushAll);
    unflushed.add(this);
  }

  #join(frame: string): void {
    this.#joined += shortHeader(TEXT, frame.length) + frame;
    this.#joinedFrames++;
    if (this.#joinedFrames >= MAX_JOINED_FRAMES) this.#writeJoined();
  }

  #writePieces(firstByte: number, pieces: readonly Uint8Array[]): void {
    this.#writeJoined();
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    this.#write([headerBytes(firstByte, bytes), ...pieces]);
  }

  #writeJoined(): void {
    const joined = this.#joined;
    if (joined === "") return;
    this.#joined = "";
    this.#joinedFrames = 0;
    if (this.#mustWait) this.#write([Buffer.from(joined, "latin1")]);
    else this.#stream.write(joined, "latin1");
  }

  get #mustWait(): boolean {
    return this.#waiting.length > 0 || this.#stream.writableLength >= MAX_GIVEN_BYTES;
  }

  #write(frame: readonly Uint8Array[]): void {
    if (!this.#mustWait) {
      this.#give(frame);
      return;
    }
    if (this.#waiting.length === 0) this.#stream.once("drain", () => this.#giveMore());
    this.#waiting.push(frame);
    for (const piece of frame) this.#waitingBytes += piece.byteLength;
  }

  #give(frame: readonly Uint8Array[]): void {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#stream.cork();
      this.#flushLater();
    }
    for (const piece of frame) if (piece.byteLength > 0) this.#stream.write(piece);
  }

  /** Gives the stream the next frames, as many as it may have. */
  #giveMore(): void {
    let count = 0;
    for (const frame of this.#waiting) {
      if (this.#stream.writableLength >= MAX_GIVEN_BYTES) break;
      this.#give(frame);
      for (const piece of frame) this.#waitingBytes -= piece.byteLength;
      count += 1;
    }
    this.#waiting = this.#waiting.slice(count);
    if (this.#waiting.length > 0) this.#stream.once("drain", () => this.#giveMore());
  }

  /** Gives everything to the stream, before its end. */
  #giveAll(): void {
    this.#writeJoined();
    for (const frame of this.#waiting) this.#give(frame);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.flush();
  }

  #answerPing(): void {
    const payload = this.#unansweredPing;
    // At most one pong is queued, so that a peer that sends pings and reads nothing cannot fill the memory.
    if (payload === undefined || !this.#isOpen || this.#isPongQueued) return;
    this.#unansweredPing = undefined;
    this.#isPongQueued = true;
    this.#writeJoined();
    this.#stream.write(Buffer.concat([headerBytes(PONG, payload.length), payload]), () => {
      this.#isPongQueued = false;
      if (this.#unansweredPing !== undefined) this.flush();
    });
  }

  /** Passes all queued frames to the operating system. */
  flush(): void {
    this.#answerPing();
    this.#writeJoined();
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#stream.uncork();
  }

  get queuedFrames(): number {
    return this.queuedBytes === 0 ? 0 : this.#framesSinceDrained;
  }

  get queuedBytes(): number {
    return this.#stream.writableLength + this.#waitingBytes + this.#joined.length;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  trackNextFrame(): (() => boolean) | undefined {
    const stream = this.#stream;
    if (this.#isCorked || stream.writableLength === 0) return undefined;
    const begin = stream.bytesWritten + this.#waitingBytes + this.#joined.length;
    const written = stream.bytesWritten - stream.writableLength;
    // The frame was not sent in two cases: fewer bytes were written than the position of its first byte; or no write
    // has ended since now, because the write that is in progress now does not contain the frame.
    return () =>
      stream.destroyed && (stream.bytesWritten <= begin || stream.bytesWritten - stream.writableLength === written);
  }

  onceDrained(listener: () => void): void {
    this.flush();
    if (this.#waiting.length > 0) this.#stream.once("drain", () => this.onceDrained(listener));
    else if (this.#stream.writableNeedDrain) this.#stream.once("drain", listener);
    else setImmediate(listener);
  }

  pause(): void {
    if (this.#isOpen) this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  ping(): void {
    if (!this.#isOpen) return;
    this.#writePieces(PING, []);
    this.flush();
  }

  close(code?: number, reason?: string): void {
    this.#sendClose(code, reason);
  }

  hangUp(): void {
    this.#giveAll();
    this.#isOpen = false;
    this.#endWithin(HANG_UP_MS);
    this.#stream.end();
  }

  terminate(): void {
    this.#parser.stop();
    this.#stream.destroy();
  }

  /**
   * Sends the queued frames and a close frame, once. No frame is sent after the close frame. Messages of the peer still
   * arrive until its own close frame.
   */
  #sendClose(code?: number, reason = ""): void {
    if (this.#hasSentClose || this.#stream.destroyed) return;
    this.#hasSentClose = true;
    this.#giveAll();
    if (this.#isOpen) {
      this.#writePieces(CLOSE, code === undefined ? [] : [closePayload(code, reason)]);
      this.#giveAll();
    }
    this.#isOpen = false;
    // Resume reading, because the peer's close frame must be read.
    this.#stream.resume();
    this.#endWithin(CLOSE_TIMEOUT_MS);
  }

  #endWithin(timeoutMs: number): void {
    const timer = setTimeout(() => this.#stream.destroy(), timeoutMs);
    timer.unref();
    this.#stream.once("close", () => clearTimeout(timer));
  }
}

/** Returns the payload of a close frame. A reason that is too long is cut after a whole character. RFC 6455, 5.5.1. */
function closePayload(code: number, reason: string): Buffer {
  const bytes = Buffer.from(`  ${reason}`);
  bytes.writeUInt16BE(code, 0);
  if (bytes.length <= MAX_CONTROL_BYTES) return bytes;
  let end = MAX_CONTROL_BYTES;
  // Bytes that continue a character begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}
