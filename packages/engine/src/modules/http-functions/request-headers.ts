import { createHmac } from "node:crypto";
import type { Credential } from "./credentials.ts";
import { isHeaderValue } from "./header-rules.ts";

export interface RequestFacts {
  readonly functionId: string;
  /** Published name; a UUID of its own for each call, the same for all attempts. */
  readonly requestId: string;
  /** Ours: the id under which caller and engine know the call. */
  readonly invocationId: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly atMs: number;
  readonly body: Buffer;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly custom: ReadonlyMap<string, string>;
  readonly credential: Credential | undefined;
}

/** The headers of one attempt: protocol section 7 under the published names and ours; then the registration's own; then what authenticates. */
export function requestHeaders(facts: RequestFacts): Record<string, string> {
  const timestamp = String(Math.floor(facts.atMs / 1000));
  const path = asciiOnly(facts.functionId);
  const headers = new HeaderTable([
    ["Content-Type", "application/json"],
    ["Content-Length", String(facts.body.byteLength)],
    ["Accept", "*/*"],
    // A packed answer could unpack to any size.
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
  const { credential } = facts;
  if (credential?.kind === "header") headers.set(credential.name, credential.value);
  if (credential?.kind === "hmac") {
    const signature = `sha256=${createHmac("sha256", credential.secret)
      .update(`${timestamp}:${facts.body.toString("base64")}`)
      .digest("hex")}`;
    headers.set("x-iii-Signature", signature);
    headers.set("x-svc-Signature", signature);
  }
  return headers.record();
}

/** A later header of the same name, in whatever case, takes the place of an earlier one. */
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

/** Ids may hold any text, headers only ASCII: what is not printable ASCII is percent-encoded. */
function asciiOnly(id: string): string {
  return isHeaderValue(id) ? id : encodeURI(Buffer.from(id).toString());
}
