import type { ServerResponse } from "node:http";
import { constants, createGzip } from "node:zlib";
import { CallError } from "@svc-runtime/protocol";
import { type ApiError, callsRequestSchema } from "../contract/api.ts";
import { isRead } from "../contract/operations.ts";
import type { EngineLink } from "./engine-link.ts";
import { parseJson } from "./json-body.ts";
import type { OwnTraces } from "./own-traces.ts";
import { JSON_HEADERS } from "./respond.ts";

/**
 * Runs the calls of a request concurrently. Writes a line for each call when it ends. Throws CallError before the first
 * line if the request is invalid or if a call may change something. Cancels the calls if `closed` aborts.
 */
export async function sendCallLines(
  body: string,
  response: ServerResponse,
  { link, traces, closed }: { readonly link: EngineLink; readonly traces: OwnTraces; readonly closed: AbortSignal },
): Promise<void> {
  const asked = callsRequestSchema.safeParse(parseJson(body));
  if (!asked.success) {
    const issue = asked.error.issues[0];
    throw new CallError("invalid_input", `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "malformed"}`);
  }
  const { calls } = asked.data;
  const change = calls.find(({ function_id: id }) => !isRead(id));
  if (change !== undefined) {
    throw new CallError(
      "invalid_input",
      `${change.function_id} may change something; call it alone, with POST /api/call`,
    );
  }
  const isCompressed = /\bgzip\b/.test(String(response.req.headers["accept-encoding"] ?? ""));
  response.writeHead(200, {
    ...JSON_HEADERS,
    "content-type": "application/x-ndjson; charset=utf-8",
    ...(isCompressed ? { "content-encoding": "gzip" } : {}),
  });
  const gzip = isCompressed ? createGzip({ level: 3 }) : undefined;
  gzip?.pipe(response);
  const output = gzip ?? response;
  const write = (line: string): void => {
    if (closed.aborted) return;
    output.write(`${line}\n`);
    // Flushes the compression, so that the page gets the line at once.
    gzip?.flush(constants.Z_SYNC_FLUSH);
  };
  await Promise.all(
    calls.map(async ({ function_id: id, payload, timeout_ms: timeoutMs }, at) => {
      try {
        const data = await traces.record(id, () =>
          link.call(id, JSON.stringify(payload), { timeoutMs, signal: closed }),
        );
        write(answerLine(at, data));
      } catch (thrown) {
        const { code, message, details } = CallError.from(thrown);
        write(JSON.stringify({ at, ok: false, error: { code, message, details } satisfies ApiError }));
      }
    }),
  );
  output.end();
}

/**
 * Returns a line with the result of a call. Line breaks in the JSON text become spaces. They can only be between
 * tokens, because line breaks inside strings are escaped.
 */
export function answerLine(at: number, json: string): string {
  return `{"at":${at},"ok":true,"data":${json.replace(/[\r\n]+/g, " ")}}`;
}
