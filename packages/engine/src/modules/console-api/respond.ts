import type { ServerResponse } from "node:http";

/** Sends JSON. The content may be anything, so a browser must not guess its type. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    ...headers,
  });
  response.end(text);
}

/** Sends `{"error":{"code","message"}}`, with `details` if there are any. */
export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  more: { readonly details?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
): void {
  const error = more.details === undefined ? { code, message } : { code, message, details: more.details };
  sendJson(response, status, JSON.stringify({ error }), more.headers);
}
