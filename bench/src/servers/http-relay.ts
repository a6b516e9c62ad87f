// The baseline for HTTP: a simple relay on `node:http` and `ws` that passes each request to a worker and each result
// back. Parses and serializes everything, and has no features: no limits, timeouts, validation, channels or telemetry.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

interface WireMessage {
  readonly type: string;
  readonly id?: string;
  readonly invocation_id?: string | null;
  readonly function_id?: string;
  readonly config?: { readonly api_path: string; readonly http_method: string };
  readonly result?: { readonly status_code: number; readonly headers: Record<string, string>; readonly body: unknown };
}

interface Route {
  readonly worker: WebSocket;
  readonly functionId: string;
}

const routes = new Map<string, Route>();
const pending = new Map<string, ServerResponse>();

function send(socket: WebSocket, message: object): void {
  socket.send(JSON.stringify(message));
}

function request(incoming: IncomingMessage, response: ServerResponse): void {
  const [path] = (incoming.url ?? "/").split("?", 1);
  const route = routes.get(`${incoming.method} ${path}`);
  if (route === undefined) {
    response.writeHead(404).end();
    return;
  }
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const id = randomUUID();
    pending.set(id, response);
    send(route.worker, {
      type: "invokefunction",
      invocation_id: id,
      function_id: route.functionId,
      data: {
        method: incoming.method,
        path,
        headers: incoming.headers,
        body: chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString()),
      },
    });
  });
}

function respond({ invocation_id: id, result }: WireMessage): void {
  const response = pending.get(id ?? "");
  if (response === undefined || result === undefined) return;
  pending.delete(id ?? "");
  const body = JSON.stringify(result.body);
  response.writeHead(result.status_code, { ...result.headers, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

function receive(socket: WebSocket, data: RawData): void {
  const message = JSON.parse(data.toString()) as WireMessage;
  switch (message.type) {
    case "registertrigger":
      routes.set(`${message.config?.http_method} ${message.config?.api_path}`, {
        worker: socket,
        functionId: message.function_id ?? "",
      });
      send(socket, { type: "triggerregistrationresult", id: message.id, status: "active" });
      break;
    case "invocationresult":
      respond(message);
      break;
    case "ping":
      send(socket, { type: "pong" });
      break;
  }
}

const http = createServer(request);
new WebSocketServer({ server: http, perMessageDeflate: false }).on("connection", (socket) => {
  socket.on("message", (data) => receive(socket, data));
  // An error is always followed by a close.
  socket.on("error", () => socket.terminate());
});
announceAndServe(http);
