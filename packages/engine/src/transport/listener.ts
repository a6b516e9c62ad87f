import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ListenAddress } from "../config/types.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;
export type UpgradeHandler = (request: IncomingMessage, stream: Duplex, head: Buffer) => void;

/** Limits of reliability 1.4. All times in milliseconds. */
const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 100;
const MAX_CONNECTIONS = 10_000;

/** The port is taken, or may not be bound. The message says which, and what to do. */
export class ListenError extends Error {
  readonly address: ListenAddress;

  constructor(what: string, address: ListenAddress, cause: NodeJS.ErrnoException) {
    const shown = `${address.host}:${address.port}`;
    const reason =
      cause.code === "EADDRINUSE"
        ? `port ${address.port} is in use by another process (is another svc engine running? find it with: lsof -i :${address.port}); stop that process or choose another port`
        : cause.code === "EACCES"
          ? `port ${address.port} may not be bound by this user; choose a port above 1023`
          : cause.message;
    super(`cannot listen for ${what} on ${shown}: ${reason}`, { cause });
    this.name = "ListenError";
    this.address = address;
  }
}

/** One listening address of the engine. A loopback address is bound in both families, so that `localhost` always reaches us. */
export class Listener {
  readonly #what: string;
  readonly #onRequest: RequestHandler;
  readonly #onUpgrade: UpgradeHandler | undefined;
  readonly #requestTimeoutMs: number;
  #servers: Server[] = [];
  #address: ListenAddress | undefined;
  #port = 0;

  /** Without `onUpgrade` an Upgrade header is ignored, as HTTP allows: clients that try HTTP/2 that way get their answer in HTTP/1.1. */
  constructor(options: {
    readonly what: string;
    readonly onRequest: RequestHandler;
    readonly onUpgrade?: UpgradeHandler;
    /** How long a whole request may take to come. Default 60 s; 0 when whoever answers sees to it. */
    readonly requestTimeoutMs?: number;
  }) {
    this.#what = options.what;
    this.#onRequest = options.onRequest;
    this.#onUpgrade = options.onUpgrade;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  /** The port that is bound; the asked one, or the one that was picked for 0. Kept, since the Host of every request is held against it. */
  get port(): number {
    return this.#port;
  }

  get host(): string {
    return this.#address?.host ?? "127.0.0.1";
  }

  /** Binds the address, then lets go of the one before: a move never leaves the engine without a listener. Rejects with ListenError. */
  async bind(address: ListenAddress): Promise<void> {
    const isBoundThere =
      this.#address !== undefined && address.port === this.#port && String(familiesOf(address.host)) === String(familiesOf(this.#address.host));
    if (isBoundThere) return;
    const before = this.#servers;
    const servers: Server[] = [];
    try {
      for (const host of familiesOf(address.host)) {
        const port = portOf(servers[0]) ?? address.port;
        const server = await this.#listen(host, port, host === "::1" && servers.length > 0);
        if (server !== undefined) servers.push(server);
      }
    } catch (error) {
      for (const server of servers) server.close();
      throw new ListenError(this.#what, address, error as NodeJS.ErrnoException);
    }
    this.#servers = servers;
    this.#address = address;
    this.#port = portOf(servers[0]) ?? 0;
    for (const server of before) closeGently(server);
  }

  /** Takes no new connections; idle ones are closed, busy ones end after their answer. */
  stopAccepting(): void {
    for (const server of this.#servers) closeGently(server);
  }

  /** Cuts whatever is left. */
  close(): void {
    for (const server of this.#servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  }

  #listen(host: string, port: number, isSecondFamily: boolean): Promise<Server | undefined> {
    const server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: this.#requestTimeoutMs,
        // How often those two are looked at; Node's own 30 s would make 10 s thirty.
        connectionsCheckingInterval: 1_000,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        noDelay: true,
        requireHostHeader: false,
      },
      this.#onRequest,
    );
    server.maxHeadersCount = MAX_HEADERS;
    server.maxConnections = MAX_CONNECTIONS;
    if (this.#onUpgrade !== undefined) server.on("upgrade", this.#onUpgrade);
    server.on("clientError", answerClientError);
    return new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        // A machine without IPv6 is no reason to fail.
        if (isSecondFamily && (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT")) resolve(undefined);
        else reject(error);
      });
      server.listen({ host, port, ipv6Only: host.includes(":") }, () => {
        server.removeAllListeners("error");
        server.on("error", () => {});
        resolve(server);
      });
    });
  }
}

function familiesOf(host: string): readonly string[] {
  return host === "127.0.0.1" || host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

function closeGently(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

/** Requests that are not HTTP, or over the header limits, never reach a handler. */
function answerClientError(error: NodeJS.ErrnoException, stream: Duplex): void {
  const socket = stream as Socket;
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, code, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "invalid_request", `the headers are over ${MAX_HEADER_BYTES} bytes`]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "request_timeout", "the request did not arrive in time"]
        : ["400 Bad Request", "invalid_request", "the request is not well-formed HTTP"];
  const body = JSON.stringify({ error: { code, message } });
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

/** Answers an upgrade request that is not accepted, and closes. */
export function refuseUpgrade(stream: Duplex, status: string, code: string, message: string): void {
  const body = JSON.stringify({ error: { code, message } });
  stream.on("error", () => stream.destroy());
  stream.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

/** Answers with JSON. */
export function answerJson(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(text);
}

/** Answers `{"error":{"code","message"}}`. */
export function answerError(response: ServerResponse, status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}): void {
  answerJson(response, status, { error: { code, message } }, headers);
}

function portOf(server: Server | undefined): number | undefined {
  return (server?.address() as AddressInfo | null | undefined)?.port;
}
