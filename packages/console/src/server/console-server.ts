import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Hello } from "../contract/api.ts";
import { Access } from "./access.ts";
import { answerApi } from "./api.ts";
import { Assets } from "./assets.ts";
import type { EngineHttp } from "./engine-http.ts";
import { EngineLink } from "./engine-link.ts";
import { type Refusal, refusalOf } from "./guards.ts";
import { ConsoleListener, isLoopback, sendLast } from "./listener.ts";
import { LiveSocket } from "./live-socket.ts";
import { LiveTopics } from "./live-topics.ts";
import { answerLogin } from "./login.ts";
import { type ConsoleOptions, UsageError } from "./options.ts";
import { OwnTraces } from "./own-traces.ts";
import { Probes } from "./probes.ts";
import { sendError } from "./respond.ts";

export const CONSOLE_VERSION: string = (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }).version;

const LIVE_PATH = "/ws/console";
const MAX_FRAME_BYTES = 64 * 1024;
/** Pages at once; a page has one socket. */
const MAX_SOCKETS = 200;

export interface RunningConsole {
  /** How this machine reaches it, e.g. `http://localhost:3113`. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ConsoleServerOptions extends ConsoleOptions {
  /** Folder of the built page. Default: the package's own. */
  readonly webDir?: string;
}

/**
 * Listens and connects to the engine, which need not be there. Rejects with Error when the port cannot be bound or the page is not built, with
 * UsageError for an address off loopback without a token.
 */
export async function startConsole(options: ConsoleServerOptions): Promise<RunningConsole> {
  const isOpen = !isLoopback(options.host);
  if (isOpen && options.token === undefined) {
    throw new UsageError(
      `on ${options.host} other machines reach the console, and with it the engine: give it the engine's token with --token-file FILE or SVC_TOKEN (the engine keeps its own in .svc/token)`,
    );
  }
  const server = new ConsoleServer(options, new Access(isOpen ? options.token : undefined), new Assets(options.webDir));
  try {
    await server.listen();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

class ConsoleServer implements RunningConsole {
  readonly #options: ConsoleOptions;
  readonly #instanceId = randomUUID();
  readonly #access: Access;
  readonly #assets: Assets;
  readonly #listener: ConsoleListener;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, handleProtocols: (offered) => [...offered][0] ?? false });
  readonly #link: EngineLink;
  readonly #topics: LiveTopics;
  readonly #http: EngineHttp;
  readonly #probes: Probes;
  readonly #traces: OwnTraces;
  readonly #engine: Hello["engine"];

  constructor(options: ConsoleOptions, access: Access, assets: Assets) {
    this.#options = options;
    this.#access = access;
    this.#assets = assets;
    const { engineHost: host, token } = options;
    const shownHost = host.includes(":") ? `[${host}]` : host;
    this.#engine = {
      bridge: `ws://${shownHost}:${options.bridgePort}`,
      http: `http://${shownHost}:${options.enginePort}`,
      realtime: `ws://${shownHost}:${options.wsPort}`,
    };
    this.#link = new EngineLink({
      bridge: this.#engine.bridge,
      realtime: this.#engine.realtime,
      token,
      serviceName: options.otelServiceName,
      sendsSpans: options.otel,
      beforeConnect: options.beforeConnect,
    });
    // While the bridge is not connected, it is not known who listens on the engine's ports.
    const presented = (): string | undefined => (this.#link.port("bridge").state === "connected" ? token : undefined);
    this.#http = { host, port: options.enginePort, url: this.#engine.http, token: options.beforeConnect === undefined ? () => token : presented };
    this.#topics = new LiveTopics(this.#link.streams);
    this.#traces = new OwnTraces(this.#link.worker, { enabled: options.otel });
    this.#probes = new Probes({ link: this.#link, http: this.#http, bridge: this.#engine.bridge, realtime: this.#engine.realtime, console: () => this.url });
    this.#listener = new ConsoleListener({
      host: options.host,
      port: options.port,
      onRequest: (request, response) => void this.#answer(request, response),
      onUpgrade: (request, stream, head) => this.#upgrade(request, stream, head),
    });
  }

  get url(): string {
    const { host } = this.#options;
    const isHere = isLoopback(host) ? host === "127.0.0.1" || host === "localhost" : host === "0.0.0.0" || host === "::";
    return `http://${isHere ? "localhost" : host.includes(":") ? `[${host}]` : host}:${this.#listener.port}`;
  }

  listen(): Promise<void> {
    return this.#listener.listen();
  }

  async close(): Promise<void> {
    this.#probes.close();
    for (const socket of this.#sockets.clients) socket.terminate();
    await Promise.all([this.#listener.close(), this.#link.close()]);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const refusal = this.#refusalOf(request);
      if (refusal !== undefined) {
        sendError(response, refusal.status, refusal);
        return;
      }
      const { path, query } = targetOf(request);
      if (!answerLogin(this.#access.login(request, query), { request, response, path, query })) return;
      if (!path.startsWith("/api/") && !path.startsWith("/_console/")) {
        await this.#assets.serve(path, request, response, this.#access.pageToken);
        return;
      }
      if (!this.#access.isPage(request)) {
        const message = "this address is for the console's own page, which sends a token of this run; reload the page";
        sendError(response, 401, { code: "unauthorized", message });
        return;
      }
      await answerApi(path, request, response, {
        link: this.#link,
        http: this.#http,
        probes: this.#probes,
        traces: this.#traces,
        readOnly: this.#options.readOnly,
        hello: () => this.#hello(),
      });
    } catch (error) {
      sendError(response, 500, { code: "internal", message: (error as Error).message });
    }
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const refusal = this.#refusalOf(request) ?? this.#socketRefusalOf(request);
    if (refusal !== undefined) {
      const body = JSON.stringify({ ok: false, error: { code: refusal.code, message: refusal.message } });
      const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
      sendLast(stream, `HTTP/1.1 ${refusal.status} Refused\r\n${headers}\r\n\r\n${body}`);
      return;
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      new LiveSocket(socket, { link: this.#link, topics: this.#topics, instanceId: this.#instanceId });
    });
  }

  #refusalOf(request: IncomingMessage): Refusal | undefined {
    if (request.url?.startsWith("/") !== true) return { status: 400, code: "invalid_request", message: "the request's target is no path" };
    return refusalOf(request, this.#listener.port, {
      allowedHosts: this.#options.allowedHosts,
      name: "this console",
      hostAdvice: "start the console with --allowed-host to serve it",
    });
  }

  #socketRefusalOf(request: IncomingMessage): Refusal | undefined {
    const { path, query } = targetOf(request);
    if (path !== LIVE_PATH) return { status: 404, code: "NOT_FOUND", message: `there is no socket at ${path}` };
    if (this.#access.login(request, query).kind !== "welcome" || !this.#access.isPageSocket(request)) {
      return { status: 401, code: "unauthorized", message: "this socket is for the console's own page, which sends a token of this run; reload the page" };
    }
    if (this.#sockets.clients.size >= MAX_SOCKETS) return { status: 503, code: "overloaded", message: `${MAX_SOCKETS} pages are open already` };
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

function targetOf(request: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } {
  const [path = "/", ...rest] = (request.url ?? "/").split("?");
  return { path, query: new URLSearchParams(rest.join("?")) };
}
