import { randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Hello } from "../contract/api.ts";
import { answerApi } from "./api.ts";
import { Assets } from "./assets.ts";
import { EngineLink } from "./engine-link.ts";
import { refusalOf } from "./guards.ts";
import { LiveSocket } from "./live-socket.ts";
import type { ConsoleOptions } from "./options.ts";
import { sendError } from "./respond.ts";

export const CONSOLE_VERSION: string = (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** What the page sends with each request, so that no other page can. */
const PAGE_TOKEN_HEADER = "x-svc-console";
const PAGE_TOKEN_SUBPROTOCOL = "svc.console.";

export interface RunningConsole {
  /** E.g. `http://localhost:3113`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Listens and connects to the engine, which need not be there. Rejects when the port cannot be bound. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const console = new ConsoleServer(options);
  await console.listen();
  return console;
}

class ConsoleServer implements RunningConsole {
  readonly #options: ConsoleOptions;
  readonly #instanceId = randomUUID();
  readonly #pageToken = randomBytes(32).toString("base64url");
  readonly #assets = new Assets();
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024, handleProtocols: (offered) => [...offered][0] ?? false });
  readonly #link: EngineLink;
  readonly #engine: Hello["engine"];

  constructor(options: ConsoleOptions) {
    this.#options = options;
    const { engineHost } = options;
    this.#engine = {
      bridge: `ws://${engineHost}:${options.bridgePort}`,
      http: `http://${engineHost}:${options.enginePort}`,
      realtime: `ws://${engineHost}:${options.wsPort}`,
    };
    this.#link = new EngineLink({ bridge: this.#engine.bridge, realtime: this.#engine.realtime, token: options.token });
    this.#server = createServer({ maxHeaderSize: 16 * 1024, requestTimeout: 60_000 }, (request, response) => void this.#answer(request, response));
    this.#server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => this.#upgrade(request, stream, head));
  }

  get url(): string {
    return `http://localhost:${this.#port}`;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await Promise.all([closed, this.#link.close()]);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const refusal = refusalOf(request, this.#port);
      if (refusal !== undefined) {
        sendError(response, refusal.status, refusal);
        return;
      }
      const path = new URL(request.url ?? "/", "http://console").pathname;
      if (!path.startsWith("/api/") && !path.startsWith("/_console/")) {
        await this.#assets.serve(request, response, this.#pageToken);
        return;
      }
      if (!this.#isPage(request.headers[PAGE_TOKEN_HEADER])) {
        sendError(response, 401, {
          code: "unauthorized",
          message: "this address is for the console's own page, which sends a token of this run; reload the page",
        });
        return;
      }
      await answerApi(path, request, response, { link: this.#link, readOnly: this.#options.readOnly, hello: () => this.#hello() });
    } catch (error) {
      sendError(response, 500, { code: "internal", message: (error as Error).message });
    }
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const protocol = request.headers["sec-websocket-protocol"] ?? "";
    const given = protocol.startsWith(PAGE_TOKEN_SUBPROTOCOL) ? protocol.slice(PAGE_TOKEN_SUBPROTOCOL.length) : undefined;
    const isOurs = refusalOf(request, this.#port) === undefined && new URL(request.url ?? "/", "http://console").pathname === "/ws/console";
    if (!isOurs || !this.#isPage(given)) {
      stream.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => new LiveSocket(socket, this.#link, this.#instanceId));
  }

  #isPage(given: string | readonly string[] | undefined): boolean {
    if (typeof given !== "string") return false;
    const a = Buffer.from(given);
    const b = Buffer.from(this.#pageToken);
    return a.length === b.length && timingSafeEqual(a, b);
  }

  #hello(): Hello {
    return {
      console_version: CONSOLE_VERSION,
      console_instance_id: this.#instanceId,
      read_only: this.#options.readOnly,
      flow_enabled: this.#options.enableFlow,
      server_time_ms: Date.now(),
      settings: this.#options.settings,
      engine: this.#engine,
    };
  }
}
