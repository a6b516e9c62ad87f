import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Frame, MAX_FRAME_BYTES, TOKEN_SUBPROTOCOL_PREFIX } from "@svc/protocol";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { FrameSocket, FrameSocketListener } from "../kernel/frame-socket.ts";
import { FrameReader, type FrameReaderListener } from "./frame-reader.ts";

// The only file that knows which WebSocket library there is.

/** Of clients that only join, leave and say who they are, in bytes: they must not make the engine hold more. */
export const MAX_SMALL_MESSAGE_BYTES = 64 * 1024;

/** Accepts sockets whose peers may send messages of so many bytes. */
function serverFor(maxPayload: number): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    // The first that is offered, as the library does, but never a token.
    handleProtocols: (offered) => [...offered].find((name) => !name.startsWith(TOKEN_SUBPROTOCOL_PREFIX)) ?? false,
  });
}

const servers = { frames: serverFor(MAX_FRAME_BYTES), small: serverFor(MAX_SMALL_MESSAGE_BYTES) } as const;

/**
 * Finishes the handshake of an upgrade request and hands over the socket. A malformed handshake is refused with 400 by the library. `messages`: how
 * large those of the peer may be, whose connection is closed with 1009 as soon as one announces more: 16 MiB, or `MAX_SMALL_MESSAGE_BYTES`.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
  accepted: (socket: FrameSocket) => void,
  { messages = "frames" }: { readonly messages?: keyof typeof servers } = {},
): void {
  servers[messages].handleUpgrade(request, stream, head, (webSocket) => accepted(new WebSocketFrameSocket(webSocket, stream, request.socket.remoteAddress)));
}

/** How long a hang-up waits for the peer to take what is queued, in milliseconds. */
const HANG_UP_MS = 1_000;

/**
 * Text up to this many characters is joined with what else goes to the same socket in this turn of the loop, and written as one
 * string: a third cheaper than handing the library one buffer per frame. Larger text and bytes go out uncopied.
 */
const MAX_JOINED_CHARS = 16 * 1024;

/** So many frames leave without waiting for the turn to end, so that the peer works on them while the engine reads on. */
const MAX_JOINED_FRAMES = 8;

const FINAL_TEXT = 0x81;
const FINAL_BINARY = 0x82;

/** A close frame has room for so many bytes of reason; the library throws over more. RFC 6455, section 5.5. */
const MAX_REASON_BYTES = 123;

/** As much of the reason as fits, in whole characters. */
function closeReason(reason: string): Buffer {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return bytes;
  let end = MAX_REASON_BYTES;
  // Bytes that continue a character begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

/** Sockets that were sent to in this turn of the loop; their frames leave together, in one system call. */
const waiting = new Set<WebSocketFrameSocket>();

function flushAll(): void {
  const sockets = [...waiting];
  waiting.clear();
  for (const socket of sockets) socket.flush();
}

/** Header of an unmasked text frame of up to 65,535 bytes, one character per byte. */
function shortHeader(payloadBytes: number): string {
  if (payloadBytes < 126) return String.fromCharCode(FINAL_TEXT, payloadBytes);
  return String.fromCharCode(FINAL_TEXT, 126, payloadBytes >> 8, payloadBytes & 0xff);
}

/** Header of an unmasked frame of any size; RFC 6455, section 5.2. */
function header(firstByte: number, payloadBytes: number): Buffer {
  if (payloadBytes < 126) return Buffer.from([firstByte, payloadBytes]);
  if (payloadBytes < 65_536) return Buffer.from([firstByte, 126, payloadBytes >> 8, payloadBytes & 0xff]);
  const bytes = Buffer.alloc(10);
  bytes[0] = firstByte;
  bytes[1] = 127;
  bytes.writeUInt32BE(payloadBytes, 6);
  return bytes;
}

const LISTENER = Symbol("listener");
const READER = Symbol("reader");
/** Who listens is kept on the socket, so that ten thousand sockets share one set of handlers. */
type ListenedWebSocket = WebSocket & { [LISTENER]: FrameSocketListener; [READER]?: FrameReader };

function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
  const socket = this as ListenedWebSocket;
  socket[READER]?.messageCame();
  socket[LISTENER].onFrame(data as Buffer, isBinary ? "binary" : "text");
}

function onAlive(this: WebSocket): void {
  (this as ListenedWebSocket)[LISTENER].onAlive();
}

function onClose(this: WebSocket, code: number, reason: Buffer): void {
  (this as ListenedWebSocket)[LISTENER].onClosed(code, reason.toString("utf8"));
}

function onError(this: WebSocket): void {
  (this as ListenedWebSocket)[READER]?.stop();
}

type ReadStream = Duplex & { [READER]: FrameReader };

function onData(this: Duplex, chunk: Buffer): void {
  (this as ReadStream)[READER].read(chunk);
}

type DataListener = (this: Duplex, chunk: Buffer) => void;

class WebSocketFrameSocket implements FrameSocket, FrameReaderListener {
  readonly remoteAddress: string | undefined;
  readonly #webSocket: WebSocket;
  readonly #stream: Duplex;
  /** The library's listener for what comes from the stream, where a reader is before it. */
  #library: DataListener | undefined;
  /** Whole frames, header and text, one character per byte; not yet given to the stream. */
  #joined = "";
  #joinedFrames = 0;
  #corked = false;
  #framesSinceDrained = 0;

  constructor(webSocket: WebSocket, stream: Duplex, remoteAddress: string | undefined) {
    this.#webSocket = webSocket;
    this.#stream = stream;
    this.remoteAddress = remoteAddress;
  }

  listen(listener: FrameSocketListener): void {
    const webSocket = this.#webSocket as ListenedWebSocket;
    webSocket[LISTENER] = listener;
    webSocket.on("message", onMessage);
    webSocket.on("ping", onAlive);
    webSocket.on("pong", onAlive);
    webSocket.on("close", onClose);
    // Always followed by "close", which carries the code (1009 for a frame over the limit, 1007 for bad UTF-8).
    webSocket.on("error", onError);
    this.#readBefore();
  }

  /** Puts a reader before the library, which takes what comes from the stream by one listener of its own. */
  #readBefore(): void {
    const stream = this.#stream;
    const [library, ...others] = stream.listeners("data") as DataListener[];
    if (library === undefined || others.length > 0) return;
    this.#library = library;
    const reader = new FrameReader(this);
    (this.#webSocket as ListenedWebSocket)[READER] = reader;
    (stream as ReadStream)[READER] = reader;
    // In this order: taking the only listener away would leave the stream a slow table of listeners, a kilobyte for each connection.
    stream.on("data", onData);
    stream.off("data", library);
  }

  onText(bytes: Buffer): void {
    (this.#webSocket as ListenedWebSocket)[LISTENER].onFrame(bytes, "text");
  }

  toLibrary(chunk: Buffer): void {
    this.#library?.call(this.#stream, chunk);
  }

  send(frame: Frame): void {
    if (!this.#begin()) return;
    // Without compression the library's sender keeps no state between frames, so whole unmasked frames may be written past it.
    if (typeof frame === "string") {
      if (frame.length <= MAX_JOINED_CHARS && Buffer.byteLength(frame) === frame.length) this.#join(frame);
      else this.#writePieces(FINAL_TEXT, [Buffer.from(frame)]);
    } else {
      this.#writePieces(FINAL_TEXT, frame);
    }
  }

  sendBinary(bytes: Uint8Array): void {
    if (this.#begin()) this.#writePieces(FINAL_BINARY, [bytes]);
  }

  /** Counts a frame and makes sure that it leaves with this turn. False when the connection takes no more. */
  #begin(): boolean {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return false;
    if (this.queuedBytes === 0) this.#framesSinceDrained = 0;
    this.#framesSinceDrained++;
    if (waiting.size === 0) setImmediate(flushAll);
    waiting.add(this);
    return true;
  }

  #join(frame: string): void {
    this.#joined += shortHeader(frame.length) + frame;
    this.#joinedFrames++;
    if (this.#joinedFrames >= MAX_JOINED_FRAMES) this.#writeJoined();
  }

  #writePieces(firstByte: number, pieces: readonly Uint8Array[]): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#stream.cork();
    }
    this.#writeJoined();
    this.#stream.write(
      header(
        firstByte,
        pieces.reduce((sum, piece) => sum + piece.byteLength, 0),
      ),
    );
    for (const piece of pieces) if (piece.byteLength > 0) this.#stream.write(piece);
  }

  #writeJoined(): void {
    const joined = this.#joined;
    if (joined === "") return;
    this.#joined = "";
    this.#joinedFrames = 0;
    // After the peer's closing word nothing may follow ours.
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#stream.write(joined, "latin1");
  }

  /** Hands everything to the operating system. */
  flush(): void {
    this.#writeJoined();
    if (!this.#corked) return;
    this.#corked = false;
    this.#stream.uncork();
  }

  get queuedFrames(): number {
    return this.queuedBytes === 0 ? 0 : this.#framesSinceDrained;
  }

  get queuedBytes(): number {
    return this.#stream.writableLength + this.#joined.length;
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === WebSocket.OPEN;
  }

  trackNextFrame(): (() => boolean) | undefined {
    const stream = this.#stream as Socket;
    if (this.#corked || stream.writableLength === 0) return undefined;
    const begin = stream.bytesWritten + this.#joined.length;
    const written = stream.bytesWritten - stream.writableLength;
    // `bytesWritten` counts what is queued until the socket drops it. If no write has ended since, the one under way does not contain the frame.
    return () => stream.destroyed && (stream.bytesWritten <= begin || stream.bytesWritten - stream.writableLength === written);
  }

  onceDrained(listener: () => void): void {
    this.flush();
    if (this.#stream.writableNeedDrain) this.#stream.once("drain", listener);
    else setImmediate(listener);
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  ping(): void {
    this.#writeJoined();
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket.ping();
  }

  close(code?: number, reason?: string): void {
    this.flush();
    this.#webSocket.close(code, reason === undefined ? undefined : closeReason(reason));
  }

  hangUp(): void {
    const cut = setTimeout(() => this.#webSocket.terminate(), HANG_UP_MS);
    cut.unref();
    this.#webSocket.once("close", () => clearTimeout(cut));
    this.flush();
    this.#stream.end();
  }

  terminate(): void {
    this.#webSocket.terminate();
  }
}
