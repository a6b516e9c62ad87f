import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { SelfSigned } from "./self-signed.ts";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real HTTP or HTTPS server on a free port of 127.0.0.1 that records its requests. */
export interface Endpoint {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  /** Number of connections so far. */
  readonly connections: number;
  /** Resolves with the next request, or one that was not taken yet. */
  next(): Promise<SeenRequest>;
  stop(): Promise<void>;
}

export type Respond = (request: SeenRequest, response: ServerResponse) => void;

export async function endpoint(respond: Respond, tls?: SelfSigned): Promise<Endpoint> {
  const requests: SeenRequest[] = [];
  const waiting: ((request: SeenRequest) => void)[] = [];
  let taken = 0;
  let connections = 0;
  const listener = (message: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const request = {
        method: message.method ?? "",
        url: message.url ?? "",
        headers: message.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(request);
      const taker = waiting.shift();
      if (taker !== undefined) {
        taken++;
        taker(request);
      }
      respond(request, response);
    });
  };
  const server =
    tls === undefined ? createServer(listener) : createSecureServer({ key: tls.key, cert: tls.cert }, listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get connections() {
      return connections;
    },
    next: () =>
      new Promise((resolve) => {
        const request = requests[taken];
        if (request === undefined) waiting.push(resolve);
        else {
          taken++;
          resolve(request);
        }
      }),
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
