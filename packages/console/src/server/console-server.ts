import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Hello } from "../contract/api.ts";
import { LOGIN_HEADER, LOGIN_REQUIRED } from "../contract/login.ts";
import { answerApi } from "./api.ts";
import { Assets } from "./assets.ts";
import { EngineClient } from "./engine-client.ts";
import { type Refusal, refusalOf } from "./guards.ts";
import { ConsoleListener, isLoopback, sendLast } from "./listener.ts";
import { LiveSocket } from "./live-socket.ts";
import { answerLogin, answerLogout } from "./login.ts";
import { type ConsoleOptions, UsageError } from "./options.ts";
import { PageToken, presentedSocketToken, presentedToken } from "./page-token.ts";
import { sendError } from "./respond.ts";
import { type Session, Sessions } from "./sessions.ts";

export const CONSOLE_VERSION: string = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;

const LIVE_PATH = "/ws/console";
const MAX_FRAME_BYTES = 64 * 1024;
/** Maximum number of open pages per token. Each page has one socket. */
const MAX_SOCKETS_OF_TOKEN = 200;

export interface RunningConsole {
  /** Address on this machine, e.g. `http://localhost:3113`. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ConsoleServerOptions extends ConsoleOptions {
  /** Folder of the built page. Default: the package's own. */
  readonly webDir?: string;
  /** Clock for sessions and failed logins, in milliseconds. Default: the monotonic clock. */
  readonly now?: () => number;
  /** Writes a line for the user who runs the console. Default: to standard error. */
  readonly note?: (line: string) => void;
}

/**
 * Starts the console and connects to the engine. The engine need not be running. Rejects with Error if the port cannot
 * be bound or the page is not built. Rejects with UsageError if the address is not a loopback address and there is no
 * token.
 */
export async function startConsole(options: ConsoleServerOptions): Promise<RunningConsole> {
  const isOpen = !isLoopback(options.host);
  if (isOpen && options.token === undefined) {
    throw new UsageError(
      `on ${options.host} other machines can reach the console and the engine through it; pass the engine's token with --token-file FILE or SVC_TOKEN (the engine's own is in .svc/token)`,
    );
  }
  const server = new ConsoleServer(options, new Assets(options.webDir));
  try {
    await server.listen();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** A client that may make requests. It either has a session, or it is the page of a console that needs no login. */
interface Authorized {
  readonly client: EngineClient;
  readonly session: Session | undefined;
}

/**
 * Only large messages are compressed. A sync of all functions then has a tenth of its size. No context is shared
 * between messages, so an open page needs no memory for compression.
 */
const COMPRESSION = {
  threshold: 8 * 1024,
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  zlibDeflateOptions: { level: 3 },
} as const;

class ConsoleServer implements RunningConsole {
  readonly #options: ConsoleOptions;
  readonly #instanceId = randomUUID();
  readonly #pageToken = new PageToken();
  readonly #assets: Assets;
  readonly #listener: ConsoleListener;
  /** Sockets of pages without a session. */
  readonly #ownSockets = new Set<WebSocket>();
  /** Number of open sockets by client. Sessions with the same token have the same client. */
  readonly #socketCounts = new Map<EngineClient, number>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: COMPRESSION,
    handleProtocols: (offered) => [...offered][0] ?? false,
  });
  readonly #engine: Hello["engine"];
  /**
   * Client with the console's own token. It detects the mode of the engine. In development mode, it makes the requests
   * of all pages.
   */
  readonly #own: EngineClient;
  readonly #sessions: Sessions;

  constructor(options: ConsoleServerOptions, assets: Assets) {
    this.#options = options;
    this.#assets = assets;
    const host = options.engineHost.includes(":") ? `[${options.engineHost}]` : options.engineHost;
    this.#engine = {
      bridge: `ws://${host}:${options.bridgePort}`,
      http: `http://${host}:${options.enginePort}`,
      realtime: `ws://${host}:${options.wsPort}`,
    };
    const connect = (token: string | undefined, needsDevelopment: boolean): EngineClient =>
      new EngineClient({ options, engine: this.#engine, console: () => this.url, token, needsDevelopment });
    this.#own = connect(options.token, true);
    this.#sessions = new Sessions({
      connect: (token) => connect(token, false),
      ownToken: options.token,
      now: options.now ?? (() => performance.now()),
      note: options.note ?? ((line) => void process.stderr.write(`svc console: ${line}\n`)),
    });
    this.#own.link.onState(() => {
      if (this.#requiresLogin) for (const socket of this.#ownSockets) socket.close(LOGIN_REQUIRED, "log in");
    });
    this.#listener = new ConsoleListener({
      host: options.host,
      port: options.port,
      onRequest: (request, response) => void this.#answer(request, response),
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
    });
  }

  get url(): string {
    const { host } = this.#options;
    const isHere = isLoopback(host)
      ? host === "127.0.0.1" || host === "localhost"
      : host === "0.0.0.0" || host === "::";
    return `http://${isHere ? "localhost" : host.includes(":") ? `[${host}]` : host}:${this.#listener.port}`;
  }

  listen(): Promise<void> {
    return this.#listener.listen();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await Promise.all([this.#listener.close(), this.#own.close(), this.#sessions.close()]);
  }

  /** True if other machines can reach the console, or if the engine is not in development mode. */
  get #requiresLogin(): boolean {
    return !isLoopback(this.#options.host) || this.#own.link.requiresLogin;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const refusal = this.#refusalOf(request);
      if (refusal !== undefined) {
        sendError(response, refusal.status, refusal);
        return;
      }
      const path = pathOf(request);
      if (!path.startsWith("/api/") && !path.startsWith("/_console/")) {
        // The page is the same for all users. It shows the login form if a login is needed.
        await this.#assets.serve(path, request, response, this.#requiresLogin ? "" : this.#pageToken.value);
        return;
      }
      if (path === "/api/login") {
        await answerLogin(request, response, this.#sessions);
        return;
      }
      const token = presentedToken(request);
      const authorized = this.#authorize(token);
      if (authorized === undefined) {
        const { status, code, message } = this.#notAuthorized();
        sendError(response, status, { code, message }, this.#requiresLogin ? { [LOGIN_HEADER]: "required" } : {});
        return;
      }
      if (path === "/api/logout") {
        answerLogout(request, response, () => this.#sessions.logout(token));
        return;
      }
      authorized.session?.touch();
      const { link, http, probes, traces } = authorized.client;
      await answerApi(path, request, response, {
        link,
        http,
        probes,
        traces,
        readOnly: this.#options.readOnly,
        hello: () => this.#hello(),
      });
    } catch (error) {
      sendError(response, 500, { code: "internal", message: (error as Error).message });
    }
  }

  /**
   * Returns the client of a request. Returns undefined if there is no session, except in one case: the console needs no
   * login and its own page sent the request.
   */
  #authorize(token: string | undefined): Authorized | undefined {
    const session = this.#sessions.find(token);
    if (session !== undefined) return { client: session.client, session };
    return !this.#requiresLogin && this.#pageToken.isSame(token)
      ? { client: this.#own, session: undefined }
      : undefined;
  }

  #notAuthorized(): Refusal {
    if (this.#requiresLogin)
      return { status: 401, code: "login_required", message: "log in to this console with a token of the engine" };
    return {
      status: 401,
      code: "unauthorized",
      message: "only the console's own page may use this address, with the token of this run; reload the page",
    };
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const authorized = this.#authorize(presentedSocketToken(request));
    const refusal = this.#refusalOf(request) ?? this.#socketRefusalOf(request, authorized);
    if (refusal !== undefined || authorized === undefined) {
      const { status, code, message } = refusal ?? this.#notAuthorized();
      const body = JSON.stringify({ ok: false, error: { code, message } });
      const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
      sendLast(stream, `HTTP/1.1 ${status} Refused\r\n${headers}\r\n\r\n${body}`);
      return;
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => this.#serve(socket, authorized));
  }

  #serve(socket: WebSocket, { client, session }: Authorized): void {
    const { link, topics, polledTopics } = client;
    this.#countSocket(client, 1);
    socket.on("close", () => this.#countSocket(client, -1));
    new LiveSocket(socket, { link, topics, polledTopics, instanceId: this.#instanceId });
    if (session === undefined) {
      this.#ownSockets.add(socket);
      socket.on("close", () => this.#ownSockets.delete(socket));
      return;
    }
    // An open page sends a ping every few seconds, which keeps its session from expiring.
    socket.on("message", () => session.touch());
    socket.on(
      "close",
      session.onEnd(() => socket.close(LOGIN_REQUIRED, "log in")),
    );
  }

  #countSocket(client: EngineClient, by: 1 | -1): void {
    const count = (this.#socketCounts.get(client) ?? 0) + by;
    if (count === 0) this.#socketCounts.delete(client);
    else this.#socketCounts.set(client, count);
  }

  #refusalOf(request: IncomingMessage): Refusal | undefined {
    if (request.url?.startsWith("/") !== true)
      return { status: 400, code: "invalid_request", message: "the request target is not a path" };
    return refusalOf(request, this.#listener.port, {
      allowedHosts: this.#options.allowedHosts,
      name: "this console",
      hostAdvice: "start the console with --allowed-host to serve it",
    });
  }

  #socketRefusalOf(request: IncomingMessage, authorized: Authorized | undefined): Refusal | undefined {
    const path = pathOf(request);
    if (path !== LIVE_PATH) return { status: 404, code: "NOT_FOUND", message: `no WebSocket at ${path}` };
    if (authorized !== undefined && (this.#socketCounts.get(authorized.client) ?? 0) >= MAX_SOCKETS_OF_TOKEN) {
      return {
        status: 503,
        code: "overloaded",
        message: `${MAX_SOCKETS_OF_TOKEN} pages of this token are open; close one`,
      };
    }
    return undefined;
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

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}
