import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { freePort } from "@svc-runtime/protocol/testing";
import { type RawData, WebSocket, WebSocketServer } from "ws";

/** A frame that passed the tap. `json` is undefined if the frame is not a JSON object. */
export interface TappedFrame {
  readonly from: "client" | "engine";
  readonly path: string;
  readonly connection: number;
  readonly kind: "text" | "binary";
  readonly bytes: Buffer;
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

export interface TappedUpgrade {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly atMs: number;
  readonly connection: number;
}

export interface TappedClose {
  readonly path: string;
  readonly connection: number;
  readonly code: number;
  readonly reason: string;
}

/** A connection that passes the tap. */
export interface TappedConnection {
  readonly number: number;
  readonly path: string;
  /** The client's side. */
  readonly client: WebSocket;
  /** The engine's side. Undefined if the tap replaces the engine. */
  readonly engine: WebSocket | undefined;
  /** From now on frames and the close of one side no longer reach the other. */
  part(): void;
}

type Answer = "forward" | "play" | { readonly refuse: string };

export interface WireTapOptions {
  /**
   * Handling of an upgrade: forwarded to the engine (default), accepted by the tap, or refused with an HTTP status
   * line.
   */
  readonly onUpgrade?: (path: string, nth: number) => Answer;
  /** A recorded upgrade waits for this before the response. */
  readonly hold?: (path: string, nth: number) => Promise<void> | undefined;
  /** The client's pings are not answered. */
  readonly swallowPings?: boolean;
  /** Called for each connection in which the tap replaces the engine. */
  readonly onPlay?: (connection: TappedConnection) => void;
}

export interface WireTap {
  readonly address: string;
  readonly frames: readonly TappedFrame[];
  readonly upgrades: readonly TappedUpgrade[];
  readonly closes: readonly TappedClose[];
  /** Live connections. */
  readonly connections: ReadonlySet<TappedConnection>;
  /** Resolves with the first matching frame, past or future. */
  frame(wanted: (frame: TappedFrame) => boolean, what: string): Promise<TappedFrame>;
  /** Resolves when the condition holds. Checked after each frame. */
  until<T>(look: () => T | undefined, what: string): Promise<T>;
  /** The live connection for a path. */
  connection(path: string): Promise<TappedConnection>;
  close(): Promise<void>;
}

const DEADLINE_MS = 60_000;

/** A proxy between a client and the engine. Records the frames, and can misbehave on either side. */
export async function startWireTap(engineAddress: string | undefined, options: WireTapOptions = {}): Promise<WireTap> {
  const frames: TappedFrame[] = [];
  const upgrades: TappedUpgrade[] = [];
  const closes: TappedClose[] = [];
  const connections = new Set<TappedConnection>();
  const watchers = new Set<() => void>();
  const changed = (): void => {
    for (const watcher of [...watchers]) watcher();
  };
  const webSockets = new WebSocketServer({ noServer: true, autoPong: options.swallowPings !== true });
  const sockets = new Set<Socket>();
  const server: Server = createServer((_request, response) => response.writeHead(426).end());
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const nth = upgrades.filter((upgrade) => upgrade.path === path).length;
    const number = upgrades.length;
    upgrades.push({ path, headers: request.headers, atMs: performance.now(), connection: number });
    changed();
    const held = options.hold?.(path, nth);
    const go = (): void => answerUpgrade({ path, nth, number }, request, socket, head);
    if (held === undefined) go();
    else void held.then(go);
  });

  function answerUpgrade(
    own: { readonly path: string; readonly nth: number; readonly number: number },
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
  ): void {
    const { path, nth, number } = own;
    const answer = options.onUpgrade?.(path, nth) ?? (engineAddress === undefined ? "play" : "forward");
    if (typeof answer === "object") {
      socket.end(`HTTP/1.1 ${answer.refuse}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      changed();
      return;
    }
    if (answer === "play") {
      webSockets.handleUpgrade(request, socket, head, (client) => take(number, path, client, undefined));
      return;
    }
    const engine = new WebSocket(`${engineAddress}${request.url}`, { headers: forwardable(request.headers) });
    const refuse = (status: string): void => {
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    };
    engine.once("unexpected-response", (_request, response) => {
      refuse(`${response.statusCode} ${response.statusMessage}`);
      response.resume();
    });
    const early: [RawData, boolean][] = [];
    const keep = (data: RawData, isBinary: boolean): void => {
      early.push([data, isBinary]);
    };
    engine.on("message", keep);
    engine.on("error", () => socket.destroy());
    engine.once("open", () => {
      webSockets.handleUpgrade(request, socket, head, (client) => {
        engine.off("message", keep);
        take(number, path, client, engine);
        for (const [data, isBinary] of early) engine.emit("message", data, isBinary);
      });
    });
  }

  function take(number: number, path: string, client: WebSocket, engine: WebSocket | undefined): void {
    let parted = false;
    const connection: TappedConnection = {
      number,
      path,
      client,
      engine,
      part: () => {
        parted = true;
      },
    };
    connections.add(connection);
    const pass = (from: TappedFrame["from"], to: WebSocket | undefined) => (data: RawData, isBinary: boolean) => {
      const bytes = data as Buffer;
      frames.push({
        from,
        path,
        connection: number,
        kind: isBinary ? "binary" : "text",
        bytes,
        json: isBinary ? undefined : parsed(bytes),
      });
      if (!parted) to?.send(bytes, { binary: isBinary });
      changed();
    };
    client.on("message", pass("client", engine));
    engine?.on("message", pass("engine", client));
    client.on("error", () => {});
    client.on("close", (code, reason) => {
      connections.delete(connection);
      closes.push({ path, connection: number, code, reason: reason.toString() });
      if (!parted && engine !== undefined) end(engine, code, reason);
      changed();
    });
    engine?.on("close", (code, reason) => {
      if (!parted) end(client, code, reason);
    });
    if (engine === undefined) options.onPlay?.(connection);
    changed();
  }

  server.listen(await freePort(), "127.0.0.1");
  await once(server, "listening");
  const tap: WireTap = {
    address: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    frames,
    upgrades,
    closes,
    connections,
    frame: (wanted, what) => tap.until(() => frames.find(wanted), what),
    until<T>(look: () => T | undefined, what: string) {
      return new Promise<T>((resolve, reject) => {
        const limit = setTimeout(() => {
          watchers.delete(watch);
          reject(
            new Error(
              `not within ${DEADLINE_MS} ms: ${what}\npassed so far: ${frames.map((frame) => `${frame.from}: ${frame.bytes.toString("utf8", 0, 200)}`).join("\n")}`,
            ),
          );
        }, DEADLINE_MS);
        const watch = (): void => {
          const found = look();
          if (found === undefined) return;
          clearTimeout(limit);
          watchers.delete(watch);
          resolve(found);
        };
        watchers.add(watch);
        watch();
      });
    },
    connection: (path) =>
      tap.until(() => [...connections].find((connection) => connection.path === path), `a connection to ${path}`),
    async close() {
      for (const { client, engine } of connections) {
        client.terminate();
        engine?.terminate();
      }
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return tap;
}

/** Number of upgrades of the worker socket. */
export function upgradesOf(tap: WireTap): number {
  return tap.upgrades.filter(({ path }) => path === "/").length;
}

/** Resolves after this many upgrades of the worker socket. */
export function comesBack(tap: WireTap, times = 2): Promise<true> {
  return tap.until(() => (upgradesOf(tap) >= times ? true : undefined), `upgrade ${times} of /`);
}

function end(socket: WebSocket, code: number, reason: Buffer): void {
  // A code that no close frame may contain: the other side was disconnected abruptly, so this one is, too.
  if (code === 1005) socket.close();
  else if (code === 1006) socket.terminate();
  else socket.close(code, reason);
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(bytes.toString()) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

/** The client's headers, without those of its connection to the tap. */
function forwardable(headers: IncomingMessage["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === "string" && !/^(host|connection|upgrade|sec-websocket-.*)$/.test(entry[0]),
    ),
  );
}
