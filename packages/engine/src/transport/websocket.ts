import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Frame, MAX_FRAME_BYTES } from "@svc/protocol";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { FrameSocket, FrameSocketListener } from "../kernel/frame-socket.ts";

// The only file that knows which WebSocket library there is.

const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES });

/** Finishes the handshake of an upgrade request and hands over the socket. A malformed handshake is refused with 400 by the library. */
export function acceptWebSocket(request: IncomingMessage, stream: Duplex, head: Buffer, accepted: (socket: FrameSocket) => void): void {
  server.handleUpgrade(request, stream, head, (webSocket) => accepted(new WebSocketFrameSocket(webSocket, stream, request.socket.remoteAddress)));
}

/** How long a hang-up waits for the peer to take what is queued, in milliseconds. */
const HANG_UP_MS = 1_000;

/** Streams that were written to in this turn of the loop; their frames leave together, in one system call. */
const corked = new Set<Duplex>();

function flush(): void {
  for (const stream of corked) stream.uncork();
  corked.clear();
}

function cork(stream: Duplex): void {
  if (corked.has(stream)) return;
  if (corked.size === 0) setImmediate(flush);
  stream.cork();
  corked.add(stream);
}

class WebSocketFrameSocket implements FrameSocket {
  readonly remoteAddress: string | undefined;
  readonly #webSocket: WebSocket;
  readonly #stream: Duplex;
  #framesSinceDrained = 0;

  constructor(webSocket: WebSocket, stream: Duplex, remoteAddress: string | undefined) {
    this.#webSocket = webSocket;
    this.#stream = stream;
    this.remoteAddress = remoteAddress;
  }

  listen(listener: FrameSocketListener): void {
    const webSocket = this.#webSocket;
    webSocket.on("message", (data: RawData, isBinary: boolean) => listener.onFrame(data as Buffer, isBinary ? "binary" : "text"));
    webSocket.on("ping", () => listener.onAlive());
    webSocket.on("pong", () => listener.onAlive());
    webSocket.on("close", (code, reason) => listener.onClosed(code, reason.toString("utf8")));
    // Always followed by "close", which carries the code (1009 for a frame over the limit, 1007 for bad UTF-8).
    webSocket.on("error", () => {});
  }

  send(frame: Frame): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    if (this.#stream.writableLength === 0) this.#framesSinceDrained = 0;
    this.#framesSinceDrained++;
    cork(this.#stream);
    if (typeof frame === "string") this.#webSocket.send(frame);
    else this.#webSocket.send(Buffer.concat(frame as Uint8Array[]), { binary: false });
  }

  get queuedFrames(): number {
    return this.#stream.writableLength === 0 ? 0 : this.#framesSinceDrained;
  }

  get queuedBytes(): number {
    return this.#stream.writableLength;
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  ping(): void {
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket.ping();
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  hangUp(): void {
    const cut = setTimeout(() => this.#webSocket.terminate(), HANG_UP_MS);
    cut.unref();
    this.#webSocket.once("close", () => clearTimeout(cut));
    if (corked.delete(this.#stream)) this.#stream.uncork();
    this.#stream.end();
  }

  terminate(): void {
    this.#webSocket.terminate();
  }
}
