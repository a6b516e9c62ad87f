import type { ServerResponse } from "node:http";
import type { ApiError } from "../contract/api.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

export const JSON_HEADERS = {
  ...SECURITY_HEADERS,
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Sends `{"ok":true,"data":...}`. `data` is JSON text, which is inserted unchanged. */
export function sendData(response: ServerResponse, data: string): void {
  response.writeHead(200, JSON_HEADERS).end(`{"ok":true,"data":${data}}`);
}

export function sendError(
  response: ServerResponse,
  status: number,
  error: ApiError,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // If a part of the body was not read, the connection is closed. Otherwise that part would be parsed as the next
  // request.
  const ending = response.req.complete ? {} : { connection: "close" };
  response.writeHead(status, { ...JSON_HEADERS, ...ending, ...headers }).end(JSON.stringify({ ok: false, error }));
}
