import { refuseRefLookalike } from "./channel-ref-lookalike.ts";
import type { Fields } from "./fields.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { clientMembers, headerMembers } from "./request-head.ts";
import type { RequestTarget } from "./routing/path.ts";

/** The route that a request matched. */
export interface MatchedTrigger {
  /** Path as registered, e.g. `/users/:id`. */
  readonly path: string;
  readonly method: string;
}

const NO_QUERY = '"query_params":{},"query":{}';

/**
 * Returns the request object without its body, as JSON members, so that the body can be appended unparsed. Throws 400.
 */
export function requestMembers(
  { requestId, method, target, client, pathParams, query, headers }: IncomingRequest,
  trigger: MatchedTrigger,
): string {
  return (
    `${parameterMembers(pathParams, query)},${headerMembers(headers)},${triggerMembers(method, trigger)},` +
    `"url":${JSON.stringify(urlOf(target))},"request_id":"${requestId}",${clientMembers(client)}`
  );
}

/**
 * Returns the path and query parameters as JSON members. Throws 400 for maps that look like a channel reference (see
 * `refuseRefLookalike`).
 */
export function parameterMembers(pathParams: Readonly<Record<string, string>>, query: Fields): string {
  refuseRefLookalike("query parameters", query.single);
  refuseRefLookalike("path parameters", pathParams);
  const queryText =
    query === NO_FIELDS
      ? NO_QUERY
      : `"query_params":${JSON.stringify(query.single)},"query":${JSON.stringify(query.all)}`;
  return `"path_params":${JSON.stringify(pathParams)},${queryText}`;
}

export function triggerMembers(method: string, trigger: MatchedTrigger): string {
  const path = JSON.stringify(trigger.path);
  return `"path":${path},"method":${JSON.stringify(method)},"trigger":{"type":"http","path":${path},"method":${JSON.stringify(trigger.method)}}`;
}

/** Returns the path and the query string as the client sent them. */
export function urlOf({ rawPath, rawQuery }: RequestTarget): string {
  return rawQuery === "" ? rawPath : `${rawPath}?${rawQuery}`;
}

/** The fields of an absent query. Must not be modified. */
export const NO_FIELDS: Fields = {
  single: Object.create(null) as Record<string, string>,
  all: Object.create(null) as Record<string, string[]>,
};

/** The trace headers of a request, if they are well formed. */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

// W3C Trace Context: version (not ff), 16 byte trace id, 8 byte parent id, flags; neither id all zeros.
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_BAGGAGE_BYTES = 8192;

/**
 * Returns the trace headers of a request. Omits headers that are malformed or repeated, and baggage over 8,192 bytes.
 * Long baggage is not truncated, because the rest of the list could have another meaning.
 */
export function traceHeaders(headers: Fields): TraceHeaders {
  const { traceparent, baggage } = headers.single;
  return {
    traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    // The length in characters is the length in bytes, because Node decodes header values as Latin-1.
    baggage: baggage !== undefined && baggage !== "" && baggage.length <= MAX_BAGGAGE_BYTES ? baggage : undefined,
  };
}
