import { type Frame, frameText } from "@svc-runtime/protocol";
import type { FrameSocket, FrameSocketListener } from "../kernel/frame-socket.ts";

/** The client's end of an in-memory connection. Frames are text, in order, delivered in a later microtask. */
export interface InMemoryClient {
  send(frame: string): void;
  sendBinary(bytes: Uint8Array): void;
  /** Frames from the engine that were not taken yet. */
  readonly received: string[];
  /** Binary frames from the engine. */
  readonly receivedBinary: Uint8Array[];
  /** Takes the next frame that `wanted` accepts out of `received`. Rejects if the connection ends first. */
  next(wanted?: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  /** Stops reading frames, like a worker that does not read its socket; they stay queued in the engine. */
  stall(): void;
  unstall(): void;
  /** Reads the next frames although it is stalled. */
  read(count: number): void;
  /** True while the engine does not read what this end sends. */
  readonly paused: boolean;
  close(): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Returns both ends of a connection without a network, for tests of the real kernel. */
export function inMemoryPair(): { readonly socket: FrameSocket; readonly client: InMemoryClient } {
  let listener: FrameSocketListener | undefined;
  let open = true;
  let paused = false;
  let stalled = false;
  const toEngine: (() => void)[] = [];
  const toClient: string[] = [];
  /** Number of frames that have left `toClient`. */
  let taken = 0;
  /** Bytes of `toClient`. */
  let queuedBytes = 0;
  const received: string[] = [];
  const receivedBinary: Uint8Array[] = [];
  const waiting: {
    wanted: (frame: Record<string, unknown>) => boolean;
    resolve: (frame: Record<string, unknown>) => void;
    reject: (error: Error) => void;
  }[] = [];
  let resolveClosed: (closed: { code: number; reason: string }) => void = () => {};
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    resolveClosed = resolve;
  });

  function end(code: number, reason: string): void {
    if (!open) return;
    flushToClient();
    open = false;
    listener?.onClosed(code, reason);
    resolveClosed({ code, reason });
    for (const { reject } of waiting.splice(0)) reject(new Error(`the connection ended: ${code} ${reason}`));
  }

  function flushToEngine(): void {
    while (!paused && toEngine.length > 0) toEngine.shift()?.();
  }

  function flushToClient(): void {
    if (!stalled) readFrames(toClient.length);
  }

  function readFrames(count: number): void {
    taken += count;
    for (const frame of toClient.splice(0, count)) {
      queuedBytes -= Buffer.byteLength(frame);
      const parsed = JSON.parse(frame) as Record<string, unknown>;
      const at = waiting.findIndex(({ wanted }) => wanted(parsed));
      if (at === -1) received.push(frame);
      else waiting.splice(at, 1)[0]?.resolve(parsed);
    }
  }

  function deliver(bytes: Buffer, kind: "text" | "binary"): void {
    toEngine.push(() => open && listener?.onFrame(bytes, kind));
    queueMicrotask(flushToEngine);
  }

  const socket: FrameSocket = {
    remoteAddress: "127.0.0.1",
    listen(next) {
      listener = next;
    },
    send(frame: Frame) {
      if (!open) return;
      const text = frameText(frame);
      toClient.push(text);
      queuedBytes += Buffer.byteLength(text);
      queueMicrotask(flushToClient);
    },
    sendBinary(bytes) {
      if (open) receivedBinary.push(bytes);
    },
    get isOpen() {
      return open;
    },
    trackNextFrame() {
      if (toClient.length === 0) return undefined;
      const begin = taken + toClient.length;
      return () => !open && taken <= begin;
    },
    onceDrained: (listener) => queueMicrotask(listener),
    get queuedFrames() {
      return toClient.length;
    },
    get queuedBytes() {
      return queuedBytes;
    },
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      queueMicrotask(flushToEngine);
    },
    ping() {
      if (open && !stalled) listener?.onAlive();
    },
    close: (code = 1005, reason = "") => end(code, reason),
    hangUp: () => end(1006, ""),
    terminate: () => end(1006, ""),
  };

  const client: InMemoryClient = {
    send: (frame) => deliver(Buffer.from(frame), "text"),
    sendBinary: (bytes) => deliver(Buffer.from(bytes), "binary"),
    received,
    receivedBinary,
    next(wanted = () => true) {
      const at = received.findIndex((frame) => wanted(JSON.parse(frame) as Record<string, unknown>));
      if (at !== -1) return Promise.resolve(JSON.parse(received.splice(at, 1)[0] as string) as Record<string, unknown>);
      if (!open) return Promise.reject(new Error("the connection has ended"));
      return new Promise((resolve, reject) => waiting.push({ wanted, resolve, reject }));
    },
    stall() {
      stalled = true;
    },
    read: readFrames,
    unstall() {
      stalled = false;
      queueMicrotask(flushToClient);
    },
    get paused() {
      return paused;
    },
    close: () => end(1000, ""),
    closed,
  };
  return { socket, client };
}
