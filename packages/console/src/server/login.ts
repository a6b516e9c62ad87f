import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError } from "@svc-runtime/protocol";
import { loginSchema } from "../contract/api.ts";
import type { Login } from "../contract/login.ts";
import { parseJson, readJsonText, requireJson } from "./json-body.ts";
import { TooManyAttempts } from "./login-limits.ts";
import { sendData, sendError } from "./respond.ts";
import { SESSION_IDLE_MS, type Sessions } from "./sessions.ts";

const MAX_BODY_BYTES = 4 * 1024;

/** Handles `POST /api/login`. The request has a token of the engine, and the response has a session token. */
export async function answerLogin(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Sessions,
): Promise<void> {
  if (!requirePost(request, response, "/api/login")) return;
  try {
    const asked = loginSchema.safeParse(parseJson(await readJsonText(request, MAX_BODY_BYTES)));
    if (!asked.success) throw new CallError("invalid_input", "a token has 1 to 512 characters, without blanks");
    const session = await sessions.login(
      asked.data.token,
      (request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
    );
    sendData(response, JSON.stringify({ session, idle_ms: SESSION_IDLE_MS } satisfies Login));
  } catch (thrown) {
    if (thrown instanceof TooManyAttempts) {
      const headers = { "retry-after": String(thrown.retryAfterSeconds) };
      sendError(response, 429, { code: "too_many_attempts", message: thrown.message }, headers);
      return;
    }
    const error = CallError.from(thrown);
    sendError(response, error.httpStatus, { code: error.code, message: error.message });
  }
}

/** Handles `POST /api/logout` of a logged-in user. */
export function answerLogout(request: IncomingMessage, response: ServerResponse, end: () => void): void {
  if (!requirePost(request, response, "/api/logout")) return;
  try {
    requireJson(request);
  } catch (thrown) {
    const error = CallError.from(thrown);
    sendError(response, error.httpStatus, { code: error.code, message: error.message });
    return;
  }
  end();
  sendData(response, "null");
}

function requirePost(request: IncomingMessage, response: ServerResponse, path: string): boolean {
  if (request.method === "POST") return true;
  sendError(response, 405, { code: "method_not_allowed", message: `${path} accepts only POST` }, { allow: "POST" });
  return false;
}
