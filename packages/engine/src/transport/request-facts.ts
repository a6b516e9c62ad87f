import type { IncomingMessage } from "node:http";

/** Returns header values as text. Omits headers whose values have characters other than printable ASCII and tabs. */
export function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(request.headers)) {
    const text = Array.isArray(value) ? value.join(", ") : value;
    if (text !== undefined && /^[\x20-\x7e\t]*$/.test(text)) headers[name] = text;
  }
  return headers;
}

/** Returns every value of every query parameter, decoded. */
export function queryOf(request: IncomingMessage): Record<string, string[]> {
  const query: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  const target = request.url ?? "/";
  const mark = target.indexOf("?");
  for (const [name, value] of new URLSearchParams(mark === -1 ? "" : target.slice(mark + 1))) {
    query[name] ??= [];
    query[name].push(value);
  }
  return query;
}

/** Returns the path as sent, percent-encoded, without query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}
