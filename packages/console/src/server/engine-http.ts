import { type ClientRequest, request as sendRequest } from "node:http";
import { readableReason } from "./engine-link.ts";

/** The engine's HTTP port. */
export interface EngineHttp {
  readonly host: string;
  readonly port: number;
  /** URL of the port, for messages. */
  readonly url: string;
  /** Returns the token to send. It may change over time. */
  readonly token: () => string | undefined;
}

/**
 * Starts a request to the engine's HTTP port. A path cannot send the request to another host. Throws TypeError for an
 * invalid path or header.
 */
export function toEngine(
  engine: EngineHttp,
  options: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string | string[]>>;
  },
): ClientRequest {
  return sendRequest({ host: engine.host, port: engine.port, agent: false, ...options });
}

const MODE_TIMEOUT_MS = 5_000;
const MAX_INFO_CHARS = 1024 * 1024;

/** Asks for the engine's mode over HTTP. Returns undefined if it is not available. Never rejects. */
export function modeByHttp(engine: EngineHttp): Promise<"development" | "production" | undefined> {
  return new Promise((resolve) => {
    const token = engine.token();
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const request = toEngine(engine, { method: "POST", path: "/_console/invoke", headers });
    const timer = setTimeout(() => request.destroy(), MODE_TIMEOUT_MS);
    request.on("error", () => resolve(undefined));
    request.on("close", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    request.on("response", (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => {
        body += text;
        if (body.length > MAX_INFO_CHARS) request.destroy();
      });
      answer.on("error", () => resolve(undefined));
      answer.on("end", () => resolve(answer.statusCode === 200 ? modeIn(body) : undefined));
    });
    request.end('{"function_id":"engine::info","payload":{}}');
  });
}

function modeIn(body: string): "development" | "production" | undefined {
  try {
    const { mode } = JSON.parse(body) as { readonly mode?: unknown };
    return mode === "development" || mode === "production" ? mode : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a text that says why the engine's HTTP port did not respond. */
export function unreachable(
  engine: EngineHttp,
  error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] },
): string {
  // If a name has an IPv4 and an IPv6 address, the error contains one error per address.
  const cause = error.errors?.[0] ?? error;
  return `the engine's HTTP port ${engine.url}: ${readableReason(cause.code ?? cause.message)}`;
}
