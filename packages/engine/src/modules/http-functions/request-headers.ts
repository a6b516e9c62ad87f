import { type Credential, credentialHeaders } from "./credentials.ts";
import { isHeaderValue } from "./header-rules.ts";

export interface RequestFacts {
  readonly functionId: string;
  /** Value of `x-iii-Invocation-ID`: a UUID for each call, the same for all its attempts. */
  readonly requestId: string;
  /** Value of `x-svc-Invocation-ID`: the id by which caller and engine know the call. */
  readonly invocationId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly atMs: number;
  readonly body: Buffer;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly custom: ReadonlyMap<string, string>;
  readonly credential: Credential | undefined;
}

/**
 * Returns the headers of one attempt: first those of the engine with the prefixes `x-iii-` and `x-svc-`, then those of
 * the registration, then those that authenticate the request.
 */
export function requestHeaders(facts: RequestFacts): Record<string, string> {
  const timestamp = String(Math.floor(facts.atMs / 1000));
  const path = asciiOnly(facts.functionId);
  const headers = new HeaderTable([
    ["Content-Type", "application/json"],
    ["Content-Length", String(facts.body.byteLength)],
    ["Accept", "*/*"],
    // A compressed response could decompress to any size.
    ["Accept-Encoding", "identity"],
    ["User-Agent", "svc"],
    ["x-iii-Function-Path", path],
    ["x-iii-Invocation-ID", facts.requestId],
    ["x-iii-Timestamp", timestamp],
    ["x-svc-Function-Path", path],
    ["x-svc-Invocation-ID", facts.invocationId],
    ["x-svc-Timestamp", timestamp],
    ["x-svc-Attempt", String(facts.attempt)],
  ]);
  if (facts.traceparent !== undefined) headers.set("traceparent", facts.traceparent);
  if (facts.baggage !== undefined && isHeaderValue(facts.baggage)) headers.set("baggage", facts.baggage);
  for (const [name, value] of facts.custom) headers.set(name, value);
  for (const [name, value] of credentialHeaders(facts.credential, timestamp, facts.body)) headers.set(name, value);
  return headers.record();
}

/** A map of headers. A later header replaces an earlier one with the same name, in any case. */
class HeaderTable {
  readonly #byName = new Map<string, readonly [string, string]>();

  constructor(entries: readonly (readonly [string, string])[]) {
    for (const [name, value] of entries) this.set(name, value);
  }

  set(name: string, value: string): void {
    this.#byName.set(name.toLowerCase(), [name, value]);
  }

  record(): Record<string, string> {
    return Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(this.#byName.values()));
  }
}

/**
 * Percent-encodes an id with other characters than printable ASCII. An id may contain any text, but a header only
 * ASCII.
 */
function asciiOnly(id: string): string {
  return isHeaderValue(id) ? id : encodeURI(Buffer.from(id).toString());
}
