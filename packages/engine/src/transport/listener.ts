import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server as PlainServer,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { httpCodeOf } from "@svc-runtime/protocol";
import type { ListenAddress, TlsFiles } from "../config/types.ts";
import { ConnectionCaps } from "./connection-caps.ts";
import { headProblem, MAX_HEADERS } from "./request-head.ts";
import { readTls } from "./tls.ts";

type Server = PlainServer | TlsServer;

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;
export type UpgradeHandler = (request: IncomingMessage, stream: Duplex, head: Buffer) => void;

/**
 * Time limit for receiving the head of a request, in milliseconds. A connection that takes longer is closed, so that
 * slow clients cannot use up the connections.
 */
const HEADERS_TIMEOUT_MS = 10_000;
const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 10_000;
/** How long a refused client may take to close its side of the connection, in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Ports that this process has bound, with their purpose, so that a ListenError can say that the engine itself uses the
 * port.
 */
const boundPorts = new Map<number, string>();

/** Thrown when a port is in use or may not be bound. The message names the port and says what to do. */
export class ListenError extends Error {
  /** The purpose of the listener, e.g. workers. */
  readonly what: string;
  readonly address: ListenAddress;

  constructor(what: string, address: ListenAddress, cause: NodeJS.ErrnoException) {
    const shown = `${address.host}:${address.port}`;
    const ownUse = boundPorts.get(address.port);
    const reason =
      cause.code === "EADDRINUSE"
        ? ownUse !== undefined
          ? `port ${address.port} is in use by this engine itself, for ${ownUse}; choose another port`
          : `port ${address.port} is in use by another process (is another svc engine running? find it with: lsof -i :${address.port}); stop that process or choose another port`
        : cause.code === "EACCES"
          ? `port ${address.port} may not be bound by this user; choose a port above 1023`
          : cause.message;
    super(`cannot listen for ${what} on ${shown}: ${reason}`, { cause });
    this.name = "ListenError";
    this.what = what;
    this.address = address;
  }
}

/**
 * One listening address of the engine. `127.0.0.1` and `localhost` are bound for IPv4 and IPv6, so that clients reach
 * `localhost` with both. Other hosts are bound as they are.
 */
export class Listener {
  readonly #what: string;
  readonly #onRequest: RequestHandler;
  readonly #onUpgrade: UpgradeHandler | undefined;
  readonly #requestTimeoutMs: number;
  readonly #headersTimeoutMs: number;
  #servers: Server[] = [];
  #address: ListenAddress | undefined;
  #port = 0;
  readonly #caps: ConnectionCaps;

  /**
   * Without `onUpgrade`, an Upgrade header is ignored, which HTTP permits. So a client that requests an upgrade to
   * HTTP/2 gets an HTTP/1.1 response.
   */
  constructor(options: {
    readonly what: string;
    readonly onRequest: RequestHandler;
    readonly onUpgrade?: UpgradeHandler;
    /** Returns the maximum number of connections of one address, if it is configured. */
    readonly maxConnectionsPerAddress?: () => number | undefined;
    /** Time limit for receiving a whole request, in milliseconds. Default 60 s. 0: only the handler limits the time. */
    readonly requestTimeoutMs?: number;
    /**
     * Time limit for receiving the head of a request or handshake, in milliseconds. It begins when the client connects
     * or when the previous response has ended. Default 10 s.
     */
    readonly headersTimeoutMs?: number;
  }) {
    this.#what = options.what;
    const { onRequest, onUpgrade } = options;
    this.#onRequest = (request, response) => {
      response.on("error", ignoreError);
      const problem = headProblem(request);
      if (problem === undefined) onRequest(request, response);
      else sendError(response, problem.status, "invalid_request", problem.message, { connection: "close" });
    };
    this.#onUpgrade =
      onUpgrade === undefined
        ? undefined
        : (request, stream, head) => {
            const problem = headProblem(request);
            if (problem === undefined) onUpgrade(request, stream, head);
            else refuseUpgrade(stream, problem.statusLine, "invalid_request", problem.message);
          };
    this.#caps = new ConnectionCaps(options.maxConnectionsPerAddress ?? (() => undefined));
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.#headersTimeoutMs = options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS;
  }

  /**
   * The bound port: the configured port, or the port that the operating system chose if 0 is configured. Stored in a
   * field, because it is compared with the Host of every request.
   */
  get port(): number {
    return this.#port;
  }

  get host(): string {
    return this.#address?.host ?? "127.0.0.1";
  }

  get isTls(): boolean {
    return this.#address?.tls !== undefined;
  }

  /** The certificate files; undefined without TLS. */
  get tlsFiles(): TlsFiles | undefined {
    return this.#address?.tls;
  }

  /**
   * Reads the certificate files again and uses them for new connections. If it throws TlsError, nothing has changed.
   */
  reloadTls(): void {
    if (this.#address?.tls !== undefined) this.#useTls(this.#address);
  }

  #useTls(address: ListenAddress): void {
    if (address.tls === undefined) return;
    const context = readTls(address.tls, this.#what);
    for (const server of this.#servers) if ("setSecureContext" in server) server.setSecureContext(context);
  }

  /**
   * Binds the address, and then closes the previous one, so that the engine is never without a listener. Rejects with
   * ListenError.
   */
  async bind(address: ListenAddress): Promise<void> {
    const isBoundThere =
      this.#address !== undefined &&
      address.port === this.#port &&
      String(familiesOf(address.host)) === String(familiesOf(this.#address.host));
    if (isBoundThere) {
      this.#change(address);
      return;
    }
    const before = this.#servers;
    const servers: Server[] = [];
    try {
      for (const host of familiesOf(address.host)) {
        const port = portOf(servers[0]) ?? address.port;
        const server = await this.#listen({ ...address, host, port }, host === "::1" && servers.length > 0);
        if (server !== undefined) servers.push(server);
      }
    } catch (error) {
      for (const server of servers) server.close();
      if (!isSystemError(error)) throw error;
      if (error.code === "EADDRINUSE" && address.port === this.#port) {
        throw new ListenError(
          this.#what,
          address,
          new Error("the engine itself uses this port on another host; restart it to change the host"),
        );
      }
      throw new ListenError(this.#what, address, error as NodeJS.ErrnoException);
    }
    this.#servers = servers;
    this.#address = address;
    this.#port = portOf(servers[0]) ?? 0;
    for (const server of before) closeGently(server);
  }

  /** Changes the certificate files. Nothing else can change while the address stays the same. */
  #change(address: ListenAddress): void {
    if (isDeepStrictEqual(address.tls, this.#address?.tls)) return;
    const isKeptOn =
      address.tls !== undefined &&
      this.isTls &&
      (address.tls.clientCa === undefined) === (this.#address?.tls?.clientCa === undefined);
    if (!isKeptOn)
      throw new ListenError(
        this.#what,
        address,
        new Error("restart the engine to turn TLS or client certificates on or off"),
      );
    this.#useTls(address);
    this.#address = address;
  }

  /** Stops accepting connections. Idle connections are closed; busy connections are closed after their response. */
  stopAccepting(): void {
    for (const server of this.#servers) closeGently(server);
  }

  /** Closes all remaining connections. */
  close(): void {
    for (const server of this.#servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  }

  #listen({ host, port, tls }: ListenAddress, isSecondFamily: boolean): Promise<Server | undefined> {
    const options: ServerOptions = {
      headersTimeout: this.#headersTimeoutMs,
      requestTimeout: this.#requestTimeoutMs,
      // Interval in which Node checks the two timeouts. With the default of 30 s, a timeout of 10 s could take 40 s.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
      requireHostHeader: false,
    };
    const server =
      tls === undefined
        ? createPlainServer(options, this.#onRequest)
        : createTlsServer(
            {
              ...options,
              ...readTls(tls, this.#what),
              requestCert: tls.clientCa !== undefined,
              rejectUnauthorized: tls.clientCa !== undefined,
              handshakeTimeout: TLS_HANDSHAKE_TIMEOUT_MS,
            },
            this.#onRequest,
          );
    server.maxHeadersCount = MAX_HEADERS;
    server.maxConnections = MAX_CONNECTIONS;
    if (this.#onUpgrade !== undefined) server.on("upgrade", this.#onUpgrade);
    server.on("clientError", handleClientError);
    // For TLS, this event comes before the handshake, so a refused connection costs no handshake.
    server.prependListener("connection", (socket: Socket) => {
      if (!this.#caps.admit(socket)) socket.destroy();
    });
    return new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        // On a machine without IPv6, it is sufficient to listen on IPv4.
        if (isSecondFamily && (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT")) resolve(undefined);
        else reject(error);
      });
      server.listen({ host, port, ipv6Only: host.includes(":") }, () => {
        server.removeAllListeners("error");
        server.on("error", () => {});
        const bound = portOf(server) ?? port;
        boundPorts.set(bound, this.#what);
        server.once("close", () => boundPorts.delete(bound));
        resolve(server);
      });
    });
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function familiesOf(host: string): readonly string[] {
  return host === "127.0.0.1" || host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

function closeGently(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

/** Responds to requests that are not HTTP, exceed the header limits or are too slow. No handler gets such a request. */
function handleClientError(error: NodeJS.ErrnoException, stream: Duplex): void {
  const socket = stream as Socket;
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  // The text also mentions the number of lines, because some versions of Node report too many lines with this error
  // code. With other versions, `headProblem` refuses such a request.
  const tooLarge = `the request has more than ${MAX_HEADER_BYTES} bytes of headers, or more than ${MAX_HEADERS} header lines`;
  const [status, code, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "invalid_request", tooLarge]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "request_timeout", "the request did not arrive in time"]
        : ["400 Bad Request", "invalid_request", "the request is not well-formed HTTP"];
  const body = JSON.stringify({ error: { code, message } });
  sendLast(
    socket,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Sends a last response and closes the connection with a delay. If the client is still sending, an immediate close
 * would make the operating system drop the response. After LINGER_MS, a client that has not closed its side is
 * disconnected, because Node limits the time of a connection only while it has a request.
 */
function sendLast(stream: Duplex, text: string): void {
  const cut = setTimeout(() => stream.destroy(), LINGER_MS);
  cut.unref();
  stream.once("close", () => clearTimeout(cut));
  stream.end(text);
  // Unread bytes would prevent the stream from ending.
  stream.resume();
}

/** Refuses an upgrade request with a response, then closes the connection. */
export function refuseUpgrade(
  stream: Duplex,
  status: string,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify({ error: { code, message } });
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  stream.on("error", () => stream.destroy());
  sendLast(
    stream,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more.join("")}Connection: close\r\n\r\n${body}`,
  );
}

/** Sends a JSON response. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(text);
}

/** Sends `{"error":{"code","message"}}`, with the code that HTTP responses use for this error. */
export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(response, status, { error: { code: httpCodeOf(code), message } }, headers);
}

/**
 * Handles the error of a write to a client that has disconnected. It can be ignored, because `close` follows. All
 * responses share this function, and each has only one listener, to save memory. Node keeps several listeners in an
 * array, and V8 may place the array in the old heap, where everything that it refers to survives until the next full
 * garbage collection. So a listener per request would keep the request in memory.
 */
function ignoreError(): void {}

function portOf(server: Server | undefined): number | undefined {
  return (server?.address() as AddressInfo | null | undefined)?.port;
}
