import { createHash, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/** Opcodes of RFC 6455 that the generator receives or sends. */
export const OPCODE = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const MASK_BIT = 0x80;
const FINAL_BIT = 0x80;
/** The key is constant, so that frames can be masked once. It is not zero, because the server could skip unmasking. */
const MASK_KEY = Buffer.from([0x5a, 0xc3, 0x17, 0x9e]);
const MASK_WORD = MASK_KEY.readUInt32LE(0);
const HANDSHAKE_TIMEOUT_MS = 10_000;
const READ_BUFFER_BYTES = 256 * 1024;
/** One buffer for all sockets: a read is handled completely before the next one begins. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
/** Frames up to this size are copied together into one write. Larger ones are passed to the socket unchanged. */
const COALESCE_BYTES = 16 * 1024;
const ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Returns the number of bytes before the payload of a client frame. */
export function clientHeaderBytes(payloadBytes: number): number {
  if (payloadBytes < 126) return 6;
  return payloadBytes < 65_536 ? 8 : 14;
}

/** Encodes a client frame: header, mask key, masked payload. */
export function encodeClientFrame(opcode: number, payload: Uint8Array): Buffer {
  const headerBytes = clientHeaderBytes(payload.length);
  // Allocates a whole number of words, so that masking can work word by word from an aligned start.
  const frame = Buffer.allocUnsafeSlow(headerBytes + payload.length);
  frame[0] = FINAL_BIT | opcode;
  if (headerBytes === 6) frame[1] = MASK_BIT | payload.length;
  else if (headerBytes === 8) {
    frame[1] = MASK_BIT | 126;
    frame.writeUInt16BE(payload.length, 2);
  } else {
    frame[1] = MASK_BIT | 127;
    frame.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  MASK_KEY.copy(frame, headerBytes - 4);
  frame.set(payload, headerBytes);
  maskInPlace(frame, headerBytes);
  return frame;
}

function maskInPlace(frame: Buffer, start: number): void {
  const words = (frame.length - start) >> 2;
  for (let word = 0; word < words; word++) {
    const at = start + word * 4;
    frame.writeUInt32LE((frame.readUInt32LE(at) ^ MASK_WORD) >>> 0, at);
  }
  for (let at = start + words * 4; at < frame.length; at++)
    frame[at] = (frame[at] as number) ^ (MASK_KEY[(at - start) & 3] as number);
}

/** Writes `bytes`, masked, over the payload of a masked client frame. `offset` counts from the payload's start. */
export function patchMasked(frame: Buffer, payloadStart: number, offset: number, bytes: Uint8Array): void {
  for (let index = 0; index < bytes.length; index++) {
    frame[payloadStart + offset + index] = (bytes[index] as number) ^ (MASK_KEY[(offset + index) & 3] as number);
  }
}

export type FrameListener = (opcode: number, payload: Buffer) => void;

/** Splits the bytes of a server into frames. The payload passed to the listener is valid only until it returns. */
export class ServerFrameReader {
  readonly #onFrame: FrameListener;
  /** A partial frame or header. */
  #partial: Buffer = Buffer.alloc(0);
  #partialBytes = 0;

  constructor(onFrame: FrameListener) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#partialBytes > 0) {
        at = this.#complete(chunk, at);
        continue;
      }
      const size = frameSize(chunk, at, chunk.length);
      if (size === undefined || at + size.total > chunk.length) {
        this.#keep(chunk, at, size?.total);
        return;
      }
      this.#deliver(chunk, at, size);
      at += size.total;
    }
  }

  #keep(chunk: Buffer, at: number, totalBytes: number | undefined): void {
    this.#partial = Buffer.allocUnsafeSlow(totalBytes ?? 14);
    this.#partialBytes = chunk.copy(this.#partial, 0, at);
  }

  #complete(chunk: Buffer, at: number): number {
    let size = frameSize(this.#partial, 0, this.#partialBytes);
    if (size === undefined) {
      this.#partial[this.#partialBytes++] = chunk[at] as number;
      return at + 1;
    }
    if (this.#partial.length < size.total) {
      const larger = Buffer.allocUnsafeSlow(size.total);
      this.#partial.copy(larger, 0, 0, this.#partialBytes);
      this.#partial = larger;
    }
    const copied = chunk.copy(this.#partial, this.#partialBytes, at, at + size.total - this.#partialBytes);
    this.#partialBytes += copied;
    if (this.#partialBytes === size.total) {
      const frame = this.#partial;
      this.#partialBytes = 0;
      size = frameSize(frame, 0, size.total) as FrameSize;
      this.#deliver(frame, 0, size);
    }
    return at + copied;
  }

  #deliver(buffer: Buffer, at: number, size: FrameSize): void {
    const first = buffer[at] as number;
    if ((first & FINAL_BIT) === 0 || (first & 0x0f) === 0)
      throw new Error("the server sent a fragmented message; the generator reads whole ones only");
    this.#onFrame(first & 0x0f, buffer.subarray(at + size.header, at + size.total));
  }
}

interface FrameSize {
  readonly header: number;
  readonly total: number;
}

/** Returns the sizes of the frame at `at`, or undefined while its header is incomplete. */
function frameSize(buffer: Buffer, at: number, end: number): FrameSize | undefined {
  if (end - at < 2) return undefined;
  const second = buffer[at + 1] as number;
  if ((second & MASK_BIT) !== 0) throw new Error("the server sent a masked frame");
  if (second < 126) return { header: 2, total: 2 + second };
  if (second === 126) return end - at < 4 ? undefined : { header: 4, total: 4 + buffer.readUInt16BE(at + 2) };
  return end - at < 10 ? undefined : { header: 10, total: 10 + Number(buffer.readBigUInt64BE(at + 2)) };
}

export interface WebSocketListeners {
  /** One text or binary message. The buffer is valid only until the listener returns. */
  onMessage(payload: Buffer): void;
  /** Called after all messages of one read, so that answers can be sent together. */
  onReadEnd(): void;
  onClosed(reason: string): void;
}

/** A WebSocket that writes all frames of one tick with one system call. */
export class WebSocketClient {
  readonly #socket: Socket;
  #queued: Buffer[] = [];
  #queuedBytes = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves after the handshake. Rejects if it is refused or takes over 10 s. */
  static open(port: number, path: string, listeners: WebSocketListeners): Promise<WebSocketClient> {
    return new Promise((resolve, reject) => {
      const key = randomBytes(16).toString("base64");
      let handshake: Buffer | undefined = Buffer.alloc(0);
      let client: WebSocketClient;
      const reader = new ServerFrameReader((opcode, payload) => {
        if (opcode === OPCODE.text || opcode === OPCODE.binary) listeners.onMessage(payload);
        else if (opcode === OPCODE.ping) client.queue(encodeClientFrame(OPCODE.pong, payload));
        else if (opcode === OPCODE.close)
          closedBecause = `the server closed with code ${payload.length >= 2 ? payload.readUInt16BE(0) : "none"}`;
      });
      let closedBecause = "the connection ended";
      const fail = (problem: string): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(new Error(`WebSocket handshake with port ${port} failed: ${problem}`));
      };
      const onBytes = (chunk: Buffer): void => {
        if (handshake === undefined) {
          reader.push(chunk);
        } else {
          handshake = Buffer.concat([handshake, chunk]);
          const end = handshake.indexOf("\r\n\r\n");
          if (end === -1) return;
          const problem = handshakeProblem(handshake.toString("latin1", 0, end), key);
          if (problem !== undefined) {
            fail(problem);
            return;
          }
          const rest = handshake.subarray(end + 4);
          handshake = undefined;
          clearTimeout(timer);
          resolve(client);
          reader.push(rest);
        }
        listeners.onReadEnd();
        client.flush();
      };
      const socket = connect({
        host: "127.0.0.1",
        port,
        noDelay: true,
        onread: {
          buffer: readBuffer,
          callback: (bytes) => {
            try {
              onBytes(readBuffer.subarray(0, bytes));
            } catch (error) {
              closedBecause = (error as Error).message;
              socket.destroy();
            }
            return true;
          },
        },
      });
      client = new WebSocketClient(socket);
      const timer = setTimeout(() => fail(`no answer within ${HANDSHAKE_TIMEOUT_MS} ms`), HANDSHAKE_TIMEOUT_MS);
      socket.on("error", (error) => {
        if (handshake === undefined) closedBecause = error.message;
        else fail(error.message);
      });
      socket.on("close", () => {
        if (handshake === undefined) listeners.onClosed(closedBecause);
        else fail(closedBecause);
      });
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      );
    });
  }

  /** Queues a whole encoded frame. `flush` sends it. */
  queue(frame: Buffer): void {
    this.#queued.push(frame);
    this.#queuedBytes += frame.length;
  }

  queueText(text: string): void {
    this.queue(encodeClientFrame(OPCODE.text, Buffer.from(text)));
  }

  flush(): void {
    if (this.#queued.length === 0) return;
    const frames = this.#queued;
    const bytes = this.#queuedBytes;
    this.#queued = [];
    this.#queuedBytes = 0;
    if (frames.length === 1) {
      this.#socket.write(frames[0] as Buffer);
    } else if (bytes <= frames.length * COALESCE_BYTES) {
      this.#socket.write(Buffer.concat(frames, bytes));
    } else {
      this.#socket.cork();
      for (const frame of frames) this.#socket.write(frame);
      this.#socket.uncork();
    }
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  /** Destroys the connection. */
  destroy(): void {
    this.#socket.destroy();
  }
}

function handshakeProblem(head: string, key: string): string | undefined {
  const status = head.split("\r\n", 1)[0] as string;
  if (!status.startsWith("HTTP/1.1 101")) return `answered ${JSON.stringify(status)}`;
  const accept = createHash("sha1").update(`${key}${ACCEPT_GUID}`).digest("base64");
  const given = /^sec-websocket-accept:\s*(\S+)$/im.exec(head)?.[1];
  return given === accept ? undefined : "Sec-WebSocket-Accept does not fit the key";
}
