import type { ServerResponse } from "node:http";
import type { ApiError } from "../contract/api.ts";

/** On everything that the console answers: no page may load it, guess at its type, or show it in a frame. */
export const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

const JSON_HEADERS = {
  ...SECURITY_HEADERS,
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/** `{"ok":true,"data":...}`; `data` is JSON text and passed on to the digit. */
export function sendData(response: ServerResponse, data: string): void {
  response.writeHead(200, JSON_HEADERS).end(`{"ok":true,"data":${data}}`);
}

export function sendError(response: ServerResponse, status: number, error: ApiError, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What is left of a body that nobody reads must not be taken for the next request.
  const ending = response.req.complete ? {} : { connection: "close" };
  response.writeHead(status, { ...JSON_HEADERS, ...ending, ...headers }).end(JSON.stringify({ ok: false, error }));
}
