import { STATUS_CODES } from "node:http";
import { CallError, MAX_DEPTH, nameProblem, nestsDeeperThan, Payload } from "@svc-runtime/protocol";
import type { HttpResponse } from "../../outbound-http/exchange.ts";

/** Maximum length of an error message from the function, in characters. */
const MAX_MESSAGE_CHARACTERS = 16_384;

/**
 * Converts an HTTP response into the result of a call. Returns undefined if the call has no result. Throws CallError if
 * the response means a failure.
 */
export function readResponse(functionId: string, { status, body }: HttpResponse): Payload | undefined {
  const isRedirect = status >= 300 && status < 400;
  if (status < 200 || status >= 400) throw errorOf(status, body);
  if (body.byteLength === 0) return undefined;
  const payload = jsonOf(body);
  if (payload !== undefined) return payload;
  if (isRedirect) return undefined;
  throw new CallError(
    "invalid_response",
    `the answer of ${functionId} is not JSON, or nested deeper than ${MAX_DEPTH} levels`,
    { details: { status } },
  );
}

function errorOf(status: number, body: Buffer): CallError {
  const details = { status };
  const value = jsonOf(body)?.value();
  const error = memberOf(value, "error");
  if (typeof error !== "object" || error === null) {
    const reason = STATUS_CODES[status];
    return new CallError("http_error", reason === undefined ? `HTTP ${status}` : `HTTP ${status} ${reason}`, {
      details,
    });
  }
  const code = memberOf(error, "code");
  const message = memberOf(error, "message");
  return new CallError(
    typeof code === "string" && nameProblem(code, "code") === undefined ? code : "http_error",
    typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARACTERS) : "HTTP request failed",
    { details },
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Returns undefined if the bytes are not UTF-8, not JSON, or nested too deep for a result. */
function jsonOf(body: Buffer): Payload | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
  if (nestsDeeperThan(text, MAX_DEPTH)) return undefined;
  const payload = Payload.fromText(text);
  return payload.isJson() ? payload : undefined;
}
