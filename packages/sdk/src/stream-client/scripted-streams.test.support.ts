import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export type Message = Readonly<Record<string, unknown>>;

/** The engine's side of one connection. The test reads the client's messages and writes the engine's. */
export class ScriptedConnection {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly received: Message[] = [];
  readonly #waiting = new Set<() => void>();
  readonly closed: Promise<number>;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on("message", (data) => {
      this.received.push(JSON.parse(String(data)) as Message);
      for (const check of [...this.#waiting]) check();
    });
    this.closed = new Promise((resolve) => socket.on("close", (code) => resolve(code)));
  }

  send(message: Message | string): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Resolves to the n-th message of a type, counted from 1, past or future. */
  async message(type: string, number = 1): Promise<Message> {
    for (;;) {
      const found = this.received.filter((message) => message.type === type)[number - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const check = (): void => {
          this.#waiting.delete(check);
          resolve();
        };
        this.#waiting.add(check);
      });
    }
  }

  /** Answers the hello. */
  async welcome(epoch = "first"): Promise<void> {
    await this.message("hello");
    this.send({ type: "welcome", data: { connectionId: "c", epoch, heartbeatMs: 10_000 } });
  }

  /** Answers a join, and sends the sync. */
  async admit(join: Message, seq: number, data: unknown, more: Message = {}): Promise<void> {
    const { subscriptionId, streamName, groupId, id } = join.data as Message;
    this.send({ type: "joined", data: { subscriptionId, streamName, groupId, id, seq, resumed: false } });
    this.event([String(subscriptionId)], seq, { type: "sync", data }, more);
  }

  event(subscriptionIds: readonly string[], seq: number, event: Message, more: Message = {}): void {
    this.send({
      type: "stream",
      timestamp: 1_000 + seq,
      streamName: "todos",
      groupId: "g",
      id: null,
      event,
      seq,
      subscriptionIds,
      ...more,
    });
  }
}

/** A real WebSocket server in place of the engine. */
export class ScriptedStreams {
  readonly #server: WebSocketServer;
  readonly #connections: ScriptedConnection[] = [];
  readonly #waiting = new Set<() => void>();

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => {
      this.#connections.push(new ScriptedConnection(socket, request));
      for (const check of [...this.#waiting]) check();
    });
  }

  static async start(port = 0): Promise<ScriptedStreams> {
    const server = new WebSocketServer({ port, host: "127.0.0.1", handleProtocols: () => "svc" });
    await once(server, "listening");
    return new ScriptedStreams(server);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#connections.length;
  }

  /** Resolves to the n-th connection, counted from 1, past or future. */
  async connection(number = 1): Promise<ScriptedConnection> {
    for (;;) {
      const found = this.#connections[number - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const check = (): void => {
          this.#waiting.delete(check);
          resolve();
        };
        this.#waiting.add(check);
      });
    }
  }

  async stop(): Promise<void> {
    for (const client of this.#server.clients) client.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
