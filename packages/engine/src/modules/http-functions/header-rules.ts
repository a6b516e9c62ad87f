/** Headers that define the length of the message or belong to one connection. Only the engine may set them. */
const FRAMING: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);

/**
 * Headers that the engine sets on every request, with the prefix `x-iii-` of the published protocol and with `x-svc-`.
 */
export const ENGINE_HEADERS = ["function-path", "invocation-id", "timestamp", "signature", "attempt"] as const;
const OURS: ReadonlySet<string> = new Set([
  ...ENGINE_HEADERS.flatMap((name) => [`x-iii-${name}`, `x-svc-${name}`]),
  "traceparent",
  "baggage",
]);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/** Visible ASCII, and space and tab except at the ends. A line break would start another header. */
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;

/** Returns why a registration may not set this header, or undefined. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!TOKEN.test(name)) return "is not the name of a header";
  const lower = name.toLowerCase();
  if (FRAMING.has(lower)) return "may not be set: it frames the request";
  if (OURS.has(lower)) return "may not be set: the engine sets it on every request";
  if (!isHeaderValue(value)) return "has an invalid value: only printable ASCII without line breaks is allowed";
  return undefined;
}

export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}
