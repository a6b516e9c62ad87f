import { parseCookie } from "cookie";
import type { Fields } from "./fields.ts";
import type { Incoming } from "./incoming.ts";
import { Refusal } from "./refusal.ts";

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
  { requestId, method, target, client, pathParams, query, headers }: Incoming,
  trigger: MatchedTrigger,
): string {
  const path = JSON.stringify(trigger.path);
  const url = target.rawQuery === "" ? target.rawPath : `${target.rawPath}?${target.rawQuery}`;
  const queryText =
    query === NO_FIELDS
      ? NO_QUERY
      : `"query_params":${JSON.stringify(query.single)},"query":${JSON.stringify(query.all)}`;
  const { cookie } = headers.single;
  // If a name is repeated, the first is used: browsers send the cookie of the longest path first.
  const cookies = cookie === undefined ? undefined : parseCookie(cookie);
  refuseRefLookalike("headers", headers.single);
  refuseRefLookalike("query parameters", query.single);
  refuseRefLookalike("path parameters", pathParams);
  if (cookies !== undefined) refuseRefLookalike("cookies", cookies);
  return (
    `"path_params":${JSON.stringify(pathParams)},${queryText},"headers":${JSON.stringify(headers.single)},"headers_all":${JSON.stringify(headers.all)},` +
    `"cookies":${cookies === undefined ? "{}" : JSON.stringify(cookies)},` +
    `"path":${path},"url":${JSON.stringify(url)},"method":${JSON.stringify(method)},` +
    `"trigger":{"type":"http","path":${path},"method":${JSON.stringify(trigger.method)}},"request_id":"${requestId}",` +
    `"client_address":${JSON.stringify(client.address)},"protocol":"${client.protocol}","host":${JSON.stringify(client.host)}`
  );
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
 * Omits malformed or repeated trace headers, and baggage over 8,192 bytes: a truncated list could have another meaning.
 */
export function traceHeaders(headers: Fields): TraceHeaders {
  const { traceparent, baggage } = headers.single;
  return {
    traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    // Header values have one byte per character here.
    baggage: baggage !== undefined && baggage !== "" && baggage.length <= MAX_BAGGAGE_BYTES ? baggage : undefined,
  };
}

/**
 * Refuses names that make a map look like the ref of a channel: clients would pass a reader or writer to the function
 * instead of its headers or parameters. `what` names the map. Throws 400.
 */
function refuseRefLookalike(what: string, fields: Readonly<Record<string, string | undefined>>): void {
  const { access_key, channel_id, direction } = fields;
  if (access_key === undefined || channel_id === undefined || direction === undefined) return;
  const message = `the ${what} hold channel_id, access_key and direction together, which only the ref of a channel may`;
  throw new Refusal({ status: 400, code: "invalid_request", message });
}
