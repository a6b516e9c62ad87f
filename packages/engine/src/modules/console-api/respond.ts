import type { ServerResponse } from "node:http";
import { type CallError, httpCodeOf } from "@svc-runtime/protocol";

/** Sends JSON. The content may be any JSON, so `nosniff` stops a browser from guessing another type. */
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

/**
 * Sends `{"error":{"code","message"}}` for an error of the engine itself. Converts the code to the spelling of codes in
 * HTTP responses.
 */
export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  more: { readonly headers?: Readonly<Record<string, string>> } = {},
): void {
  sendJson(response, status, JSON.stringify({ error: { code: httpCodeOf(code), message } }), more.headers);
}

/** Sends `{"error":{"code","message","details"}}` for the error of a call, unchanged. */
export function sendCallError(
  response: ServerResponse,
  { httpStatus, code, message, details }: CallError,
  headers: Readonly<Record<string, string>>,
): void {
  sendJson(response, httpStatus, JSON.stringify({ error: { code, message, details } }), headers);
}
