import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Limits, the same as those of the engine's listeners. Times are in milliseconds. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Maximum number of headers. It is set because Node would silently drop further headers. */
const MAX_HEADERS = 100;
const MAX_CONNECTIONS = 1_000;
/** Time that a rejected client has to close its side, in milliseconds. */
const LINGER_MS = 1_000;

export interface ListenerOptions {
  readonly host: string;
  /** Port to bind. With 0, the operating system chooses a free port. */
  readonly port: number;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  readonly onUpgrade: (request: IncomingMessage, stream: Duplex, head: Buffer) => void;
  /** Timeout of request headers in milliseconds. Default 10 s. */
  readonly headersTimeoutMs?: number;
}

/** The console's HTTP listener. For a loopback address, it binds IPv4 and IPv6, because `localhost` may mean either. */
export class ConsoleListener {
  readonly #options: ListenerOptions;
  readonly #servers: Server[] = [];
  #port = 0;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** The port that was bound. */
  get port(): number {
    return this.#port;
  }

  /** Binds the port. Rejects with an Error whose message is for users. */
  async listen(): Promise<void> {
    const { host, port } = this.#options;
    try {
      for (const address of familiesOf(host)) {
        const server = await this.#bind(address, this.#servers.length === 0 ? port : this.#port);
        if (server === undefined) continue;
        this.#servers.push(server);
        this.#port = (server.address() as AddressInfo).port;
      }
    } catch (error) {
      await this.close();
      throw new Error(problemOf(error as NodeJS.ErrnoException, host, port), { cause: error });
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all(
      this.#servers.splice(0).map((server) => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        return closed;
      }),
    );
  }

  #bind(host: string, port: number): Promise<Server | undefined> {
    const { onRequest, onUpgrade, headersTimeoutMs = HEADERS_TIMEOUT_MS } = this.#options;
    const server = createServer(
      {
        headersTimeout: headersTimeoutMs,
        requestTimeout: REQUEST_TIMEOUT_MS,
        // Interval at which both timeouts are checked. Node's default is 30 s, so a timeout of 10 s could take 40 s.
        connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
        maxHeaderSize: MAX_HEADER_BYTES,
        requireHostHeader: false,
      },
      onRequest,
    );
    server.maxHeadersCount = MAX_HEADERS;
    server.maxConnections = MAX_CONNECTIONS;
    server.on("upgrade", onUpgrade);
    server.on("clientError", rejectMalformed);
    return new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        // A machine without IPv6 fails here. The IPv4 listener is enough.
        if (this.#servers.length > 0 && (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT"))
          resolve(undefined);
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

/** Returns true if the address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function familiesOf(host: string): readonly string[] {
  return host === "127.0.0.1" || host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

function problemOf(error: NodeJS.ErrnoException, host: string, port: number): string {
  const where = `the console cannot listen on ${host}:${port}`;
  if (error.code === "EADDRINUSE") {
    return `${where}: port ${port} is in use by another process (is another console running? find it with: lsof -i :${port}); stop it or choose another port`;
  }
  if (error.code === "EACCES") return `${where}: this user has no permission for it; choose a port above 1023`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND")
    return `${where}: this machine has no such address; choose another with --host`;
  return `${where}: ${error.message}`;
}

/** Responds to requests that reach no handler: those that are not HTTP, are too slow, or exceed the header limits. */
function rejectMalformed(error: NodeJS.ErrnoException, stream: Duplex): void {
  if (!stream.writable || error.code === "ECONNRESET") {
    stream.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  sendLast(stream as Socket, `HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

/**
 * Sends a last response and closes the connection. A client that does not close its side is disconnected after one
 * second.
 */
export function sendLast(stream: Duplex, text: string): void {
  stream.on("error", () => stream.destroy());
  const cut = setTimeout(() => stream.destroy(), LINGER_MS);
  cut.unref();
  stream.once("close", () => clearTimeout(cut));
  stream.end(text);
  stream.resume();
}
