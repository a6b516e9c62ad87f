import type { IncomingMessage } from "node:http";

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/**
 * Why a request is not served: it names another host than this console (DNS rebinding), or a page of another origin sent it. A page that this console
 * served sends its own origin or none.
 */
export function refusalOf(request: IncomingMessage, port: number, extraHosts: readonly string[] = []): Refusal | undefined {
  const host = (request.headers.host ?? "").toLowerCase();
  if (!ownHosts(port, extraHosts).includes(host)) {
    return { status: 421, code: "misdirected_request", message: `the Host ${JSON.stringify(request.headers.host ?? "")} is not served here` };
  }
  const { origin } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}` && origin.toLowerCase() !== `https://${host}`) {
    return { status: 403, code: "FORBIDDEN", message: `pages of the origin ${JSON.stringify(origin)} may not use this console` };
  }
  const site = request.headers["sec-fetch-site"];
  if (site === "cross-site" && request.headers["sec-fetch-mode"] !== "navigate") {
    return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
  }
  return undefined;
}

function ownHosts(port: number, extraHosts: readonly string[]): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]", ...extraHosts];
  return names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
}
