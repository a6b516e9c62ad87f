import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ConsoleListener, isSameSecret, refusalOf } from "@svc-runtime/console/local-server";
import { type McpParts, mcpServer } from "./mcp-server.ts";
import { type McpSession, McpSessions } from "./mcp-sessions.ts";

const PATH = "/mcp";
const IDLE_CHECK_INTERVAL_MS = 60_000;
const MAX_BODY_BYTES = 16 * 1024 * 1024;

export interface McpHttpOptions {
  /** Port to listen on. 0 picks a free port. */
  readonly port: number;
  readonly token: string;
}

export interface McpHttp {
  readonly url: string;
  close(): Promise<void>;
}

const GUARD_OPTIONS = { name: "svc mcp", hostAdvice: "it is served to this machine only, as localhost" };

/**
 * Serves MCP over streamable HTTP on loopback to clients that send the token. Rejects if it cannot listen on the port.
 */
export async function serveHttp(parts: McpParts, { port, token }: McpHttpOptions): Promise<McpHttp> {
  const sessions = new McpSessions({ nowMs: () => performance.now(), onProblem: parts.onProblem });
  const listener = new ConsoleListener({
    host: "127.0.0.1",
    port,
    onRequest: (request, response) => {
      respond(request, response).catch((error: unknown) => {
        parts.onProblem(error);
        if (!response.headersSent) refuse(response, 500, "the request failed");
        else response.destroy();
      });
    },
    onUpgrade: (_request, stream) => stream.destroy(),
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request, listener.port, GUARD_OPTIONS);
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.message);
    if (request.url?.split("?")[0] !== PATH) return refuse(response, 404, `not found; the endpoint is ${PATH}`);
    const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (!isSameSecret(given, token)) {
      response.setHeader("www-authenticate", "Bearer");
      return refuse(response, 401, "send the token that svc mcp printed: Authorization: Bearer TOKEN");
    }
    const id = request.headers["mcp-session-id"];
    if (id === undefined) return begin(request, response);
    const session = typeof id === "string" ? sessions.withId(id) : undefined;
    if (session === undefined) return refuse(response, 404, "the session has ended; start a new one");
    await sessions.handle(session, request, response);
  }

  /** Starts a session. The transport rejects the first request if it does not initialise a session. */
  async function begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const server = mcpServer(parts);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessioninitialized: (id) => sessions.register(session, id),
    });
    const session: McpSession = {
      handle: (of, to) => transport.handleRequest(of, to),
      close: () => server.close(),
    };
    const forget = server.onclose;
    server.onclose = () => {
      forget?.();
      sessions.forget(session);
    };
    await server.connect(transport as Transport);
    try {
      // There must be no await between `makeRoom` and `handle`. Otherwise another request could take the free place in
      // between.
      if (sessions.makeRoom()) await sessions.handle(session, request, response);
      else refuse(response, 503, "all sessions are busy; close one or try again later");
    } finally {
      if (transport.sessionId === undefined) await server.close();
    }
  }

  await listener.listen();
  const timer = setInterval(() => sessions.endIdle(), IDLE_CHECK_INTERVAL_MS);
  return {
    url: `http://localhost:${listener.port}${PATH}`,
    close: async () => {
      clearInterval(timer);
      await sessions.close();
      await listener.close();
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}
