import { frameText } from "@svc-runtime/protocol";
import type { StreamClient } from "../kernel/stream-contract.ts";
import type { StreamHub } from "../streams/stream-hub.ts";

export type StreamSocketOptions = Partial<Omit<StreamClient, "path">>;

/** A stream client without a network. Messages to it arrive at once. */
export interface StreamSocket {
  /** Messages that were not taken yet. */
  readonly received: string[];
  /** Takes all received messages, parsed. */
  take(): Record<string, unknown>[];
  /** Takes the next message that `wanted` accepts out of `received`. Rejects if the connection ends first. */
  next(wanted?: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  send(text: string): void;
  say(message: Readonly<Record<string, unknown>>): void;
  /** Stops reading messages; they stay queued in the engine. */
  stall(): void;
  unstall(): void;
  /** Reads the first queued message. */
  trickle(): void;
  readonly queuedBytes: number;
  close(): void;
  /** How the connection ended, if it has. */
  readonly ended: { readonly code: number; readonly reason: string } | undefined;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export function openStreamSocket(hub: StreamHub, path: string, facts: StreamSocketOptions = {}): StreamSocket {
  if (!hub.serves(path)) throw new Error(`there is no socket at ${path}`);
  const received: string[] = [];
  let queued: string[] = [];
  let queuedBytes = 0;
  let stalled = false;
  let ended: { code: number; reason: string } | undefined;
  let onMessage: (text: string) => void = () => {};
  const closeListeners: (() => void)[] = [];
  const drainListeners: (() => void)[] = [];
  const waiting: {
    wanted: (message: Record<string, unknown>) => boolean;
    resolve: (message: Record<string, unknown>) => void;
    reject: (error: Error) => void;
  }[] = [];
  let resolveClosed: (how: { code: number; reason: string }) => void = () => {};
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    resolveClosed = resolve;
  });

  function receive(text: string): void {
    const message = JSON.parse(text) as Record<string, unknown>;
    const at = waiting.findIndex(({ wanted }) => wanted(message));
    if (at === -1) received.push(text);
    else waiting.splice(at, 1)[0]?.resolve(message);
  }

  function end(code: number, reason: string): void {
    if (ended !== undefined) return;
    ended = { code, reason };
    for (const listener of closeListeners) listener();
    resolveClosed(ended);
    for (const { reject } of waiting.splice(0)) reject(new Error(`the connection ended: ${code} ${reason}`));
  }

  hub.accept({
    client: { headers: {}, query: {}, address: "127.0.0.1:50000", trusted: false, ...facts, path },
    send(frame) {
      if (ended !== undefined) return;
      if (!stalled) {
        receive(frameText(frame));
        return;
      }
      const text = frameText(frame);
      queued.push(text);
      queuedBytes += Buffer.byteLength(text);
    },
    get bufferedBytes() {
      return queuedBytes;
    },
    onceDrained(listener) {
      if (queuedBytes === 0) setImmediate(listener);
      else drainListeners.push(listener);
    },
    onMessage(listener) {
      onMessage = listener;
    },
    onClose: (listener) => closeListeners.push(listener),
    close: (code, reason) => end(code, reason),
  });

  return {
    received,
    take: () => received.splice(0).map((text) => JSON.parse(text) as Record<string, unknown>),
    next(wanted = () => true) {
      const at = received.findIndex((text) => wanted(JSON.parse(text) as Record<string, unknown>));
      if (at !== -1) return Promise.resolve(JSON.parse(received.splice(at, 1)[0] as string) as Record<string, unknown>);
      if (ended !== undefined)
        return Promise.reject(new Error(`the connection has ended: ${ended.code} ${ended.reason}`));
      return new Promise((resolve, reject) => waiting.push({ wanted, resolve, reject }));
    },
    send(text) {
      if (ended === undefined) onMessage(text);
    },
    say(message) {
      if (ended === undefined) onMessage(JSON.stringify(message));
    },
    stall() {
      stalled = true;
    },
    unstall() {
      stalled = false;
      for (const text of queued.splice(0)) receive(text);
      queued = [];
      queuedBytes = 0;
      for (const listener of drainListeners.splice(0)) listener();
    },
    trickle() {
      const text = queued.shift();
      if (text === undefined) return;
      queuedBytes -= Buffer.byteLength(text);
      receive(text);
    },
    get queuedBytes() {
      return queuedBytes;
    },
    close: () => end(1000, ""),
    get ended() {
      return ended;
    },
    closed,
  };
}
