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

/** Why the engine's HTTP port did not answer. */
export function unreachable(engine: EngineHttp, error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }): string {
  // A name with an IPv4 and an IPv6 address fails with one error per address.
  const cause = error.errors?.[0] ?? error;
  return `the engine's HTTP port ${engine.url}: ${inWords(cause.code ?? cause.message)}`;
}
