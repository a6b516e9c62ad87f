import type { IncomingMessage } from "node:http";
import { Payload } from "@svc/protocol";
import type { Fields } from "./fields.ts";
import type { RequestTarget } from "./path.ts";
import type { RouteHolder } from "./routes.ts";

/** All of a request that its function is told. */
export interface RequestParts {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly target: RequestTarget;
  readonly holder: RouteHolder;
  readonly pathParams: Readonly<Record<string, string>>;
  readonly query: Fields;
  readonly headers: Fields;
  /** JSON text of the body. */
  readonly body: string;
}

const NO_QUERY = '"query_params":{},"query":{}';

/** The request object that the function receives, written as JSON text with the body's own text in its place. */
export function requestPayload({ request, requestId, target, holder, pathParams, query, headers, body }: RequestParts): Payload {
  const path = JSON.stringify(holder.pattern.path);
  const url = target.rawQuery === "" ? target.rawPath : `${target.rawPath}?${target.rawQuery}`;
  const queryText = target.rawQuery === "" ? NO_QUERY : `"query_params":${JSON.stringify(query.single)},"query":${JSON.stringify(query.all)}`;
  return Payload.fromText(
    `{"path_params":${JSON.stringify(pathParams)},${queryText},"headers":${JSON.stringify(headers.single)},"headers_all":${JSON.stringify(headers.all)},` +
      `"path":${path},"url":${JSON.stringify(url)},"method":${JSON.stringify(request.method)},` +
      `"trigger":{"type":"http","path":${path},"method":"${holder.method}"},"request_id":"${requestId}","client_address":${JSON.stringify(clientAddress(request))},"body":${body}}`,
  );
}

const MAPPED_IPV4 = "::ffff:";

function clientAddress(request: IncomingMessage): string | null {
  const address = request.socket.remoteAddress;
  if (address === undefined) return null;
  return address.startsWith(MAPPED_IPV4) && address.includes(".") ? address.slice(MAPPED_IPV4.length) : address;
}

/** The trace that the request belongs to, as far as its headers are well formed. */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

// W3C Trace Context: version (not ff), 16 byte trace id, 8 byte parent id, flags; neither id all zeros.
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_BAGGAGE_BYTES = 8192;

/** Malformed or repeated trace headers are left out, and baggage over 8,192 bytes too: a cut list could say something else. */
export function traceHeaders(headers: Fields): TraceHeaders {
  const { traceparent, baggage } = headers.single;
  return {
    traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    // Header values have one byte per character here.
    baggage: baggage !== undefined && baggage !== "" && baggage.length <= MAX_BAGGAGE_BYTES ? baggage : undefined,
  };
}
