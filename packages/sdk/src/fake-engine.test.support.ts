import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export type Frame = Readonly<Record<string, unknown>>;

/** The engine's side of one channel end. */
export class ChannelEnd {
  readonly socket: WebSocket;
  readonly url: string;
  /** Strings unchanged, bytes as `{ bytes }`. */
  readonly items: (string | { readonly bytes: number })[] = [];
  readonly bytes: Buffer[] = [];
  /** Close code and reason. */
  readonly closed: Promise<readonly [number, string]>;

  constructor(socket: WebSocket, url: string) {
    this.socket = socket;
    this.url = url;
    socket.on("message", (data, isBinary) => {
      this.items.push(isBinary ? { bytes: (data as Buffer).length } : String(data));
      if (isBinary) this.bytes.push(data as Buffer);
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve([code, reason.toString()]));
    });
  }
}

/**
 * One telemetry frame: `OTLP`, `LOGS` or `MTRC`, the resource's attributes by name, and the spans, log records or
 * metrics.
 */
export interface TelemetryFrame {
  readonly signal: string;
  readonly resource: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON by its members
  readonly records: readonly any[];
}

function telemetryOf(bytes: Buffer): TelemetryFrame {
  const body = JSON.parse(bytes.toString("utf8", 4)) as Readonly<Record<string, readonly Frame[]>>;
  const [group] = Object.values(body)[0] ?? [];
  const { resource, ...scopes } = group as {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
  } & Frame;
  const [scope] = Object.values(scopes)[0] as readonly Frame[];
  const records = Object.entries(scope ?? {}).find(([name]) => name !== "scope")?.[1] as TelemetryFrame["records"];
  return { signal: bytes.toString("latin1", 0, 4), resource: plainAttributes(resource.attributes), records };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Converts attributes of OTLP/JSON to plain values. */
export function plainAttributes(attributes: readonly OtlpAttribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** A real WebSocket server that registers workers. The test reads their frames and writes the engine's. */
export class FakeEngine {
  readonly #server: WebSocketServer;
  readonly frames: Frame[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly sockets: WebSocket[] = [];
  /** Sockets of channel ends, in the order of their arrival. */
  readonly ends: ChannelEnd[] = [];
  readonly #waiting = new Set<() => void>();
  /** Telemetry frames of all workers. */
  readonly telemetry: TelemetryFrame[] = [];
  /** Additional members of `workerregistered`. With `engine` it is a svc engine. */
  greeting: Frame = {};
  /** Answers frames automatically: the returned frame is sent back. */
  reply: (frame: Frame) => Frame | undefined = () => undefined;
  /** Runs before a ping is answered. */
  beforePong: () => void = () => {};

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => {
      if (request.url?.startsWith("/ws/channels/") === true) {
        this.ends.push(new ChannelEnd(socket, request.url));
        this.#checkWaiting();
        return;
      }
      this.sockets.push(socket);
      this.headers.push(request.headers);
      socket.on("message", (data, isBinary) => {
        if (isBinary) {
          this.telemetry.push(telemetryOf(data as Buffer));
          this.#checkWaiting();
          return;
        }
        const frame = JSON.parse(String(data)) as Frame;
        this.frames.push(frame);
        if (frame.type === "ping") {
          this.beforePong();
          socket.send('{"type":"pong"}');
        }
        const reply = this.reply(frame);
        if (reply !== undefined) socket.send(JSON.stringify(reply));
        this.#checkWaiting();
      });
      socket.send(
        JSON.stringify({
          type: "workerregistered",
          worker_id: `worker-${this.sockets.length}`,
          reattach_token: "token",
          ...this.greeting,
        }),
      );
    });
  }

  static async start(port = 0): Promise<FakeEngine> {
    const server = new WebSocketServer({ port, host: "127.0.0.1" });
    await once(server, "listening");
    return new FakeEngine(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  send(frame: Frame | string): void {
    this.sockets.at(-1)?.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  #checkWaiting(): void {
    for (const check of [...this.#waiting]) check();
  }

  /** Resolves to the n-th channel end, counted from 1. */
  async end(number = 1): Promise<ChannelEnd> {
    for (;;) {
      const end = this.ends[number - 1];
      if (end !== undefined) return end;
      await this.#next();
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }

  /** Resolves to the first frame, past or future, that has these members. */
  async frame(members: Frame, occurrence = 1): Promise<Frame> {
    for (;;) {
      const found = this.frames.filter((frame) =>
        Object.entries(members).every(([name, value]) => JSON.stringify(frame[name]) === JSON.stringify(value)),
      )[occurrence - 1];
      if (found !== undefined) return found;
      await this.#next();
    }
  }

  /** Resolves to the result of `find` for the telemetry so far, once it is defined. */
  async telemetryWith<Found>(find: (frames: readonly TelemetryFrame[]) => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find(this.telemetry);
      if (found !== undefined) return found;
      await this.#next();
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
