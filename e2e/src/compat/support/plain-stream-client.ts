import { once } from "node:events";
import { type RawData, WebSocket } from "ws";

const DEADLINE_MS = 60_000;

/** A client of the published stream protocol, which only joins and leaves. */
export interface PlainStreamClient {
  readonly socket: WebSocket;
  join(subscription: {
    readonly subscriptionId: string;
    readonly streamName: string;
    readonly groupId: string;
    readonly id?: string;
  }): void;
  leave(subscription: {
    readonly subscriptionId: string;
    readonly streamName: string;
    readonly groupId: string;
    readonly id?: string;
  }): void;
  say(message: unknown, options?: { readonly binary?: boolean }): void;
  /** The next message, in order. */
  next(): Promise<unknown>;
  /** Resolves when the engine has handled everything sent so far. Its answers have arrived then. */
  settled(): Promise<void>;
  /** Messages that were not consumed yet. */
  readonly waiting: readonly unknown[];
  close(): Promise<void>;
}

export async function joinStreams(address: string): Promise<PlainStreamClient> {
  const socket = new WebSocket(address);
  const waiting: unknown[] = [];
  const takers: ((message: unknown) => void)[] = [];
  socket.on("message", (data: RawData) => {
    const message: unknown = JSON.parse(String(data));
    const taker = takers.shift();
    if (taker === undefined) waiting.push(message);
    else taker(message);
  });
  await once(socket, "open");
  const say: PlainStreamClient["say"] = (message, { binary = false } = {}) =>
    socket.send(JSON.stringify(message), { binary });
  return {
    socket,
    waiting,
    say,
    join: (data) => say({ type: "join", data }),
    leave: (data) => say({ type: "leave", data }),
    next() {
      if (waiting.length > 0) return Promise.resolve(waiting.shift());
      return new Promise((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error(`no message came within ${DEADLINE_MS} ms`)), DEADLINE_MS);
        takers.push((message) => {
          clearTimeout(limit);
          resolve(message);
        });
      });
    },
    async settled() {
      const pong = once(socket, "pong");
      socket.ping();
      await pong;
    },
    async close() {
      socket.close();
      if (socket.readyState !== WebSocket.CLOSED) await once(socket, "close");
    },
  };
}
