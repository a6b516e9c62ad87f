import type { ServerResponse } from "node:http";
import type { ApiError } from "../contract/api.ts";

const COMMON = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** `{"ok":true,"data":...}`; `data` is JSON text and passed on to the digit. */
export function sendData(response: ServerResponse, data: string): void {
  response.writeHead(200, COMMON).end(`{"ok":true,"data":${data}}`);
}

export function sendError(response: ServerResponse, status: number, error: ApiError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, COMMON).end(JSON.stringify({ ok: false, error }));
}
