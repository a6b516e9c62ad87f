import type { Payload } from "@svc-runtime/protocol";
import { Refusal } from "../refusal.ts";
import { type HeaderList, headerValue } from "./header-list.ts";

/** A response that is ready to be written. */
export interface RouteResponse {
  readonly status: number;
  /** Names and values alternate; names may repeat. Without Content-Length and Connection, which the writer sets. */
  readonly headers: HeaderList;
  /** Undefined if the status allows no body. */
  readonly body: string | Buffer | undefined;
  /** Names of headers that the function set but that are not sent. */
  readonly dropped: readonly string[];
}

export const JSON_TYPE = "application/json";
const ENVELOPE_KEYS: ReadonlySet<string> = new Set(["status_code", "headers", "body"]);

/**
 * Headers that control the connection or the framing of messages. A function cannot know their values, and a wrong
 * value would make the client read the wrong number of bytes.
 */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
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

/** A response as functions and middleware describe it. */
export interface Envelope {
  readonly status_code?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
}

/**
 * Converts a function's result to a response. An object `{status_code?, headers?, body?}` describes the parts of the
 * response; any other value is the body, as JSON. Throws a 500 that names the function if the result is not a valid
 * response.
 */
export function responseOfResult(result: Payload, functionId: string, defaultStatus = 200): RouteResponse {
  let value: unknown;
  try {
    value = result.value();
  } catch (cause) {
    throw invalidResponse(functionId, "a result that is not JSON", cause);
  }
  const published = publishedEnvelope(value);
  if (published !== undefined) return responseOfEnvelope(published, functionId, defaultStatus);
  if (!isEnvelope(value))
    return { status: defaultStatus, headers: ["Content-Type", JSON_TYPE], body: result.text(), dropped: [] };
  return responseOfEnvelope(value, functionId, defaultStatus);
}

/**
 * Returns the response that `{status_code?, headers?, body?}` describes. Throws a 500 that names the function if the
 * status is not valid.
 */
export function responseOfEnvelope(envelope: Envelope, functionId: string, defaultStatus = 200): RouteResponse {
  const status = envelope.status_code ?? defaultStatus;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) {
    throw invalidResponse(
      functionId,
      `the status_code ${JSON.stringify(status)}; expected a whole number from 200 to 599`,
    );
  }
  return responseOfStatus(status, envelope);
}

/**
 * Returns true if a result describes a response. A result with other keys is a body, unless its `status_code` is a
 * number.
 */
function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  if (keys.length === 0) return false;
  if (Object.hasOwn(value, "status_code") && typeof (value as Envelope).status_code === "number") return true;
  return keys.every((key) => ENVELOPE_KEYS.has(key));
}

/**
 * Returns the response that a result of the published Python client describes. That client sends its response class
 * with exactly three keys, and with `statusCode` in place of `status_code`.
 */
function publishedEnvelope(value: unknown): Envelope | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 3) return undefined;
  if (!["statusCode", "headers", "body"].every((key) => Object.hasOwn(value, key))) return undefined;
  const { statusCode, headers, body } = value as {
    readonly statusCode: unknown;
    readonly headers: unknown;
    readonly body: unknown;
  };
  return typeof statusCode === "number" ? { status_code: statusCode, headers, body } : undefined;
}

function responseOfStatus(status: number, envelope: Envelope): RouteResponse {
  const { headers, dropped } = readResponseHeaders(envelope.headers);
  // As in the published engine, a response without `body` has an empty object as body.
  return withBody({ status, headers, dropped }, Object.hasOwn(envelope, "body") ? envelope.body : {});
}

/**
 * Adds the value as body, serialized according to the content type. Without a content type, it is serialized as JSON.
 */
export function withBody({ status, headers, dropped }: Omit<RouteResponse, "body">, body: unknown): RouteResponse {
  if (status === 204 || status === 304) return { status, headers, body: undefined, dropped };
  if (status === 205) return { status, headers, body: "", dropped };
  const contentType = headerValue(headers, "content-type");
  if (contentType === undefined)
    return { status, headers: [...headers, "Content-Type", JSON_TYPE], body: jsonText(body), dropped };
  if (!isJsonType(contentType)) {
    if (typeof body === "string") return { status, headers, body, dropped };
    if (body === null) return { status, headers, body: "", dropped };
  }
  return { status, headers, body: jsonText(body), dropped };
}

function jsonText(body: unknown): string {
  return JSON.stringify(body) ?? "null";
}

/** Returns the function's headers that may be sent, and the names of the others. */
export function readResponseHeaders(given: unknown): { readonly headers: string[]; readonly dropped: string[] } {
  const headers: string[] = [];
  const dropped: string[] = [];
  const take = (name: string, value: unknown): void => {
    if (
      typeof value !== "string" ||
      !HEADER_NAME.test(name) ||
      !HEADER_VALUE.test(value) ||
      RESERVED_HEADERS.has(name.toLowerCase())
    )
      dropped.push(name);
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

export function isJsonType(contentType: string): boolean {
  return /[/+.-]json$/.test((contentType.split(";", 1)[0] ?? "").trim().toLowerCase());
}

export function invalidResponse(functionId: string, what: string, cause?: unknown): Refusal {
  return new Refusal({ status: 500, code: "invalid_answer", message: `${functionId} answered with ${what}`, cause });
}
