import { type ClientRequest, request as sendRequest } from "node:http";
import { inWords } from "./engine-link.ts";

/** The engine's HTTP port. */
export interface EngineHttp {
  readonly host: string;
  readonly port: number;
  /** As URL, for people. */
  readonly url: string;
  /** The token to present to it now. */
  readonly token: () => string | undefined;
}

/** Begins a request to the engine's HTTP port; no other host can be reached by it, whatever the path says. Throws TypeError for a path or header that cannot be sent. */
export function toEngine(
  engine: EngineHttp,
  options: { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string | string[]>> },
): ClientRequest {
  return sendRequest({ host: engine.host, port: engine.port, agent: false, ...options });
}

const MODE_TIMEOUT_MS = 5_000;
const MAX_INFO_CHARS = 1024 * 1024;

/** The mode of the engine by its HTTP port; undefined when it does not tell. Never rejects. */
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

/** Why the engine's HTTP port did not answer. */
export function unreachable(engine: EngineHttp, error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }): string {
  // A name with an IPv4 and an IPv6 address fails with one error per address.
  const cause = error.errors?.[0] ?? error;
  return `the engine's HTTP port ${engine.url}: ${inWords(cause.code ?? cause.message)}`;
}
