import { emptyFields, type Fields } from "../fields.ts";
import type { IncomingRequest } from "../incoming-request.ts";
import type { Refusal } from "../refusal.ts";
import { type HeaderList, withoutHeader } from "../response/header-list.ts";
import { invalidResponse, type RouteResponse, readResponseHeaders, withBody } from "../response/route-response.ts";
import type { MiddlewareEntry } from "../routing/setting-parts.ts";

/**
 * Applies the changes `{headers?, query_params?, path_params?}` of middleware to the request. A value replaces the
 * values with the same name; null removes the name.
 */
export function changeRequest(entry: MiddlewareEntry, changes: unknown, incoming: IncomingRequest): void {
  if (!isObject(changes)) throw malformed(entry, "a request that is not an object");
  for (const [part, given] of Object.entries(changes)) {
    if (!isObject(given)) throw malformed(entry, `a request.${part} that is not an object`);
    for (const [name, value] of Object.entries(given))
      changePart(entry, part, { name, values: valuesOf(entry, part, value) }, incoming);
  }
}

interface Change {
  readonly name: string;
  /** New values. An empty list removes the name. */
  readonly values: readonly string[];
}

function changePart(entry: MiddlewareEntry, part: string, { name, values }: Change, incoming: IncomingRequest): void {
  switch (part) {
    case "path_params":
      // Copied before the change, because all requests of a route without parameters share one object.
      incoming.pathParams = Object.assign(emptyFields().single, incoming.pathParams);
      setOrDelete(incoming.pathParams, name, values.at(-1));
      return;
    case "query_params":
      // Copied before the change, because all requests without a query share one object.
      incoming.query = copyOf(incoming.query);
      setOrDelete(incoming.query.single, name, values.at(-1));
      setOrDelete(incoming.query.all, name, values.length === 0 ? undefined : [...values]);
      return;
    case "headers":
      setOrDelete(incoming.headers.single, name.toLowerCase(), values.length === 0 ? undefined : values.join(", "));
      setOrDelete(incoming.headers.all, name.toLowerCase(), values.length === 0 ? undefined : [...values]);
      return;
    default:
      throw malformed(entry, `a change of request.${part}; it may change headers, query_params and path_params`);
  }
}

function valuesOf(entry: MiddlewareEntry, part: string, value: unknown): readonly string[] {
  if (value === null) return [];
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  if (values.every((each) => typeof each === "string")) return values;
  throw malformed(entry, `a value of request.${part} that is neither a string nor null`);
}

function copyOf(fields: Fields): Fields {
  const copy = emptyFields();
  return { single: Object.assign(copy.single, fields.single), all: Object.assign(copy.all, fields.all) };
}

function setOrDelete<T>(target: Record<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) delete target[name];
  else target[name] = value;
}

/**
 * Applies the changes `{status_code?, headers?, body?}` of middleware to the response. A header replaces the headers
 * with the same name; null removes the header. Only the headers of a streamed response can be changed.
 */
export function changedResponse(
  entry: MiddlewareEntry,
  changes: unknown,
  routeResponse: RouteResponse,
  isStreamed: boolean,
): RouteResponse {
  if (changes === undefined || changes === null) return routeResponse;
  if (!isObject(changes)) throw malformed(entry, "a response that is not {status_code?, headers?, body?}");
  if (isStreamed && (Object.hasOwn(changes, "body") || Object.hasOwn(changes, "status_code"))) {
    throw malformed(entry, "a change of an answer that streams; only its headers can be changed");
  }
  const { headers, dropped } = changedHeaders(entry, changes.headers ?? {}, routeResponse);
  const status = changes.status_code ?? routeResponse.status;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599)
    throw malformed(entry, "an invalid status_code");
  if (Object.hasOwn(changes, "body")) return withBody({ status, headers, dropped }, changes.body);
  const hasBody = status !== 204 && status !== 304;
  return { status, headers, body: hasBody ? (routeResponse.body ?? "") : undefined, dropped };
}

function changedHeaders(
  entry: MiddlewareEntry,
  changes: unknown,
  routeResponse: RouteResponse,
): { readonly headers: HeaderList; readonly dropped: readonly string[] } {
  if (!isObject(changes)) throw malformed(entry, "response.headers that are not an object");
  let headers = routeResponse.headers;
  for (const name of Object.keys(changes)) headers = withoutHeader(headers, name);
  const fresh = readResponseHeaders(Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null)));
  return { headers: [...headers, ...fresh.headers], dropped: [...routeResponse.dropped, ...fresh.dropped] };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the refusal for an invalid result of middleware. The request fails, since the middleware may protect the
 * route.
 */
export function malformed(entry: MiddlewareEntry, what: string): Refusal {
  return invalidResponse(`the middleware ${entry.functionId}`, what);
}
