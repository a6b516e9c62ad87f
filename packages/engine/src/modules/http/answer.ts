import type { Payload } from "@svc/protocol";
import { type Failure, Refusal } from "./refusal.ts";

/** A response, ready to be written. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn; names may repeat. Without Content-Length and Connection, which are the writer's. */
  readonly headers: readonly string[];
  /** Undefined when the status allows no body. */
  readonly body: string | undefined;
  /** Headers that the function gave and that were left out. */
  readonly dropped: readonly string[];
}

const JSON_TYPE = "application/json";
const ENVELOPE_KEYS: ReadonlySet<string> = new Set(["status_code", "headers", "body"]);

/** Headers about the connection or the framing, which a function cannot know; a value of its own could split or smuggle messages. */
const NOT_THE_FUNCTIONS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

interface Envelope {
  readonly status_code?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
}

/**
 * The response that a function's result stands for. `{status_code?, headers?, body?}` says it piece by piece; any other value is
 * itself the body, as JSON with status 200. Throws a 500 that names the function when the result cannot be a response.
 */
export function answerOf(result: Payload, functionId: string): Answer {
  let value: unknown;
  try {
    value = result.value();
  } catch (cause) {
    throw invalidAnswer(functionId, "a result that is not JSON", cause);
  }
  if (!isEnvelope(value)) return { status: 200, headers: ["Content-Type", JSON_TYPE], body: result.text(), dropped: [] };
  const status = value.status_code ?? 200;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) {
    throw invalidAnswer(functionId, `the status_code ${JSON.stringify(status)}; expected a whole number from 200 to 599`);
  }
  return dress(status, value);
}

/** True when a result describes a response. One that has further keys is a value of its own, unless it says a numeric status. */
function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  if (keys.length === 0) return false;
  if (Object.hasOwn(value, "status_code") && typeof (value as Envelope).status_code === "number") return true;
  return keys.every((key) => ENVELOPE_KEYS.has(key));
}

function dress(status: number, envelope: Envelope): Answer {
  const { headers, dropped } = readAnswerHeaders(envelope.headers);
  if (status === 204 || status === 304) return { status, headers, body: undefined, dropped };
  if (status === 205) return { status, headers, body: "", dropped };
  const contentType = headerValue(headers, "content-type");
  // The published rule: an answer without body is an empty object.
  const body = Object.hasOwn(envelope, "body") ? envelope.body : {};
  if (contentType === undefined) return { status, headers: [...headers, "Content-Type", JSON_TYPE], body: JSON.stringify(body), dropped };
  if (!isJsonType(contentType)) {
    if (typeof body === "string") return { status, headers, body, dropped };
    if (body === null) return { status, headers, body: "", dropped };
  }
  return { status, headers, body: JSON.stringify(body), dropped };
}

/** The function's headers that may be sent, and the names of those that may not. */
function readAnswerHeaders(given: unknown): { readonly headers: string[]; readonly dropped: string[] } {
  const headers: string[] = [];
  const dropped: string[] = [];
  const take = (name: string, value: unknown): void => {
    if (typeof value !== "string" || !HEADER_NAME.test(name) || !HEADER_VALUE.test(value) || NOT_THE_FUNCTIONS.has(name.toLowerCase())) dropped.push(name);
    else headers.push(name, value.trim());
  };
  if (given === undefined || given === null) return { headers, dropped };
  if (Array.isArray(given)) {
    for (const line of given as unknown[]) {
      const colon = typeof line === "string" ? line.indexOf(":") : -1;
      if (typeof line !== "string" || colon === -1) dropped.push(JSON.stringify(line));
      else take(line.slice(0, colon), line.slice(colon + 1));
    }
  } else if (typeof given === "object") {
    for (const [name, value] of Object.entries(given)) {
      for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) take(name, one);
    }
  } else dropped.push("headers");
  return { headers, dropped };
}

function headerValue(headers: readonly string[], name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === name) return headers[at + 1];
  return undefined;
}

function isJsonType(contentType: string): boolean {
  return /[/+.-]json$/.test((contentType.split(";", 1)[0] ?? "").trim().toLowerCase());
}

function invalidAnswer(functionId: string, what: string, cause?: unknown): Refusal {
  return new Refusal({ status: 500, code: "invalid_answer", message: `${functionId} answered with ${what}`, cause });
}

/** `{"error":{"code","message","error_id"}}`; `skipped` beside it marks a condition that was not met, as published. */
export function answerOfFailure(failure: Failure, errorId: string): Answer {
  const { status, code, message } = failure;
  const error = { code, message, error_id: errorId };
  const headers = ["Content-Type", JSON_TYPE, "X-Content-Type-Options", "nosniff"];
  for (const [name, value] of Object.entries(failure.headers ?? {})) headers.push(name, value);
  return { status, headers, body: JSON.stringify(code === "CONDITION_NOT_MET" ? { error, skipped: true } : { error }), dropped: [] };
}
