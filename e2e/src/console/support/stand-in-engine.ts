import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { freePorts } from "@svc-runtime/protocol/testing";
import { CallError } from "@svc-runtime/sdk";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { Ports } from "../../support/cli.ts";
import { discardDocuments } from "./pages.ts";

/**
 * Returns the result of a call. `real` lets the engine behind it answer. Throws a CallError for an error; a promise
 * that stays pending means no response.
 */
export type CallScript = (payload: unknown, real: () => Promise<unknown>) => unknown;

/** What happens to a group of a stream: nothing arrives, it has other items, or joining is rejected. */
export type StreamScript =
  | { readonly kind: "hold" }
  | { readonly kind: "items"; readonly items: readonly unknown[] }
  | { readonly kind: "refuse" };

/** Engine side of a connection. */
interface Peer {
  send(data: RawData, isBinary: boolean): void;
  onMessage(listener: (data: RawData, isBinary: boolean) => void): void;
}

interface Frame {
  readonly type?: string;
  readonly invocation_id?: string;
  readonly function_id?: string;
  readonly data?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string } | null;
  readonly streamName?: string;
  readonly event?: { readonly type: string };
}

const NOWHERE: Ports = { bridge: 0, http: 0, realtime: 0 };

/**
 * Proxy between a console and an engine that simulates failures: calls that fail, wait or get no response, silent
 * streams, broken connections. Everything else is forwarded to the engine, so tests use only shapes that the engine
 * sends.
 */
export class StandInEngine {
  /** Ports for the console, once it is started. */
  ports: Ports = NOWHERE;
  #behind: Ports = NOWHERE;
  readonly #calls = new Map<string, CallScript>();
  readonly #streams = new Map<string, StreamScript>();
  /** Held frames of streams, until they are released. */
  readonly #held = new Map<string, (() => void)[]>();
  readonly #sockets = new Set<Socket>();
  #servers: Server[] = [];
  #asked: Readonly<Record<string, number>> = {};

  async start(behind: Ports): Promise<void> {
    this.ports = await freePorts();
    this.#behind = behind;
    await this.comeBack();
  }

  /** Returns how often the function was called through it. */
  asked(functionId: string): number {
    return this.#asked[functionId] ?? 0;
  }

  answer(functionId: string, script: CallScript): void {
    this.#calls.set(functionId, script);
  }

  fail(functionId: string, code: string, message: string): void {
    this.answer(functionId, () => Promise.reject(new CallError(code, message)));
  }

  /** Holds calls until the returned function is called; then the engine answers them. */
  delay(functionId: string): () => void {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    this.answer(functionId, async (_payload, real) => {
      await released;
      return real();
    });
    return () => {
      this.#calls.delete(functionId);
      release();
    };
  }

  stream(name: string, script: StreamScript): void {
    discardDocuments();
    this.#streams.set(name, script);
  }

  /** Removes all scripts; held calls continue. */
  asIs(): void {
    // A document may contain what the scripts of streams sent.
    if (this.#streams.size > 0) discardDocuments();
    this.#calls.clear();
    this.#streams.clear();
    const held = [...this.#held.values()].flat();
    this.#held.clear();
    for (const send of held) send();
  }

  /** From now on it reports another run id, like a restarted engine. */
  beAnother(instanceId: string): void {
    discardDocuments();
    this.answer("engine::info", async (_payload, real) => ({ ...((await real()) as object), instance_id: instanceId }));
  }

  /** Breaks every connection; clients can reconnect. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks every connection and rejects new ones until `comeBack`. */
  async goAway(): Promise<void> {
    const closed = this.#servers.map((server) => once(server.close(), "close"));
    this.drop();
    await Promise.all(closed);
    this.#servers = [];
  }

  async comeBack(): Promise<void> {
    const { bridge, http, realtime } = this.ports;
    const toHttp = createServer((socket) => {
      const engine = connectTcp(this.#behind.http, "127.0.0.1");
      engine.on("error", () => socket.destroy());
      socket.on("close", () => engine.destroy());
      socket.pipe(engine).pipe(socket);
    });
    const listeners = [
      [webSocketServer(this.#behind.bridge, (client, engine) => this.#bridge(client, engine)), bridge],
      [webSocketServer(this.#behind.realtime, (client, engine) => this.#realtime(client, engine)), realtime],
      [toHttp, http],
    ] as const;
    for (const [server, port] of listeners) {
      server.on("connection", (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => this.#sockets.delete(socket));
      });
      await once(server.listen(port, "127.0.0.1"), "listening");
    }
    this.#servers = listeners.map(([server]) => server);
  }

  #bridge(client: WebSocket, engine: Peer): void {
    /** Calls whose response a script needs. */
    const awaited = new Map<string, (frame: Frame) => void>();
    client.on("message", (data, isBinary) => {
      const frame = frameOf(data, isBinary);
      const script = frame.type === "invokefunction" ? this.#calls.get(frame.function_id ?? "") : undefined;
      if (frame.type === "invokefunction")
        this.#asked = { ...this.#asked, [frame.function_id ?? ""]: this.asked(frame.function_id ?? "") + 1 };
      if (script === undefined || frame.invocation_id === undefined) {
        engine.send(data, isBinary);
        return;
      }
      const { invocation_id, function_id } = frame;
      const real = (): Promise<unknown> =>
        new Promise((resolve, reject) => {
          awaited.set(invocation_id, ({ result, error }) =>
            error == null ? resolve(result) : reject(new CallError(error.code, error.message)),
          );
          engine.send(data, isBinary);
        });
      const reply = (outcome: object): void =>
        client.send(JSON.stringify({ type: "invocationresult", invocation_id, function_id, ...outcome }));
      void (async () => script(frame.data, real))().then(
        (result) => reply({ result }),
        (thrown: unknown) => {
          const { code, message } = CallError.from(thrown);
          reply({ error: { code, message } });
        },
      );
    });
    engine.onMessage((data, isBinary) => {
      const frame = awaited.size === 0 ? {} : frameOf(data, isBinary);
      const waiting = frame.type === "invocationresult" ? awaited.get(frame.invocation_id ?? "") : undefined;
      if (waiting === undefined) client.send(data, { binary: isBinary });
      else waiting(frame);
    });
  }

  #realtime(client: WebSocket, engine: Peer): void {
    client.on("message", (data, isBinary) => {
      const frame = frameOf(data, isBinary);
      const asked = frame.data as { readonly streamName?: string; readonly subscriptionId?: string } | undefined;
      if (frame.type === "join" && this.#streams.get(asked?.streamName ?? "")?.kind === "refuse") {
        const refusal = {
          code: "forbidden",
          message: "you may not join it today",
          subscriptionId: asked?.subscriptionId,
        };
        client.send(JSON.stringify({ type: "error", data: refusal }));
      } else engine.send(data, isBinary);
    });
    engine.onMessage((data, isBinary) => {
      const frame = this.#streams.size === 0 ? {} : frameOf(data, isBinary);
      const stream = frame.streamName ?? (frame.data as { readonly streamName?: string } | undefined)?.streamName ?? "";
      const script = this.#streams.get(stream);
      if (script?.kind === "hold") {
        this.#held.set(stream, [...(this.#held.get(stream) ?? []), () => client.send(data, { binary: isBinary })]);
      } else if (script?.kind === "items" && frame.event?.type === "sync") {
        const { itemIds: _ids, ...event } = frame.event as { readonly itemIds?: unknown };
        client.send(JSON.stringify({ ...frame, event: { ...event, data: script.items } }));
      } else client.send(data, { binary: isBinary });
    });
  }
}

/** Binary frames are telemetry, which is never scripted. */
function frameOf(data: RawData, isBinary: boolean): Frame {
  return isBinary ? {} : (JSON.parse(data.toString()) as Frame);
}

/**
 * Accepts WebSockets and opens one to the engine for each. What the client sends before that one is open is buffered.
 */
function webSocketServer(port: number, take: (client: WebSocket, engine: Peer) => void): Server {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createHttpServer((_request, response) => response.writeHead(426).end());
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (client) => {
      const { authorization } = request.headers;
      const engine = new WebSocket(
        `ws://127.0.0.1:${port}${request.url ?? "/"}`,
        authorization === undefined ? {} : { headers: { authorization } },
      );
      const early: (() => void)[] = [];
      client.on("error", () => client.terminate());
      client.on("close", () => engine.terminate());
      engine.on("error", () => client.terminate());
      engine.on("close", () => client.close());
      engine.once("open", () => {
        for (const send of early.splice(0)) send();
      });
      take(client, {
        send(data, isBinary) {
          const send = (): void => engine.send(data, { binary: isBinary });
          if (engine.readyState === WebSocket.CONNECTING) early.push(send);
          else send();
        },
        onMessage: (listener) => void engine.on("message", listener),
      });
    });
  });
  return server;
}
