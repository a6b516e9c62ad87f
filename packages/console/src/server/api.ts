import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError, memberSpans } from "@svc/protocol";
import { callRequestSchema, type Hello } from "../contract/api.ts";
import { isRead } from "../contract/operations.ts";
import type { EngineLink } from "./engine-link.ts";
import { sendData, sendError } from "./respond.ts";

const MAX_BODY_BYTES = 16 * 1024 * 1024;

export interface ApiParts {
  readonly link: EngineLink;
  readonly readOnly: boolean;
  readonly hello: () => Hello;
}

/** `POST /api/call` and `GET /api/hello`. The caller was checked before. */
export async function answerApi(path: string, request: IncomingMessage, response: ServerResponse, parts: ApiParts): Promise<void> {
  if (path === "/api/hello" && request.method === "GET") {
    sendData(response, JSON.stringify(parts.hello()));
    return;
  }
  if (path !== "/api/call") {
    sendError(response, 404, { code: "NOT_FOUND", message: `there is nothing at ${path}` });
    return;
  }
  if (request.method !== "POST") {
    response.setHeader("allow", "POST");
    sendError(response, 405, { code: "method_not_allowed", message: `${path} takes POST` });
    return;
  }
  try {
    const body = await readBody(request);
    const asked = callRequestSchema.safeParse(parseJson(body));
    if (!asked.success)
      throw new CallError("invalid_input", `the body: ${asked.error.issues[0]?.message ?? "malformed"}; expected {"function_id": "...", "payload": ...}`);
    const { function_id: functionId, timeout_ms: timeoutMs } = asked.data;
    if (parts.readOnly && !isRead(functionId)) {
      sendError(response, 403, { code: "read_only", message: `this console was started with --read-only; ${functionId} changes something` });
      return;
    }
    const span = memberSpans(body, new Set(["payload"])).get("payload");
    sendData(response, await parts.link.call(functionId, span === undefined ? undefined : body.slice(span[0], span[1]), timeoutMs));
  } catch (thrown) {
    const error = CallError.from(thrown);
    sendError(response, error.code === "disconnected" ? 503 : error.httpStatus, { code: error.code, message: error.message, details: error.details });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  if ((request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() !== "application/json") {
    throw new CallError("invalid_input", "send the body with Content-Type: application/json");
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new CallError("payload_too_large", `the body is over ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CallError("invalid_json", `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}
