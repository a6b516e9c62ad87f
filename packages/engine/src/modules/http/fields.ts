/**
 * Names and values of queries, forms and headers. Names may repeat and may be any string, including `__proto__`, so the
 * objects have no prototype.
 */
export interface Fields {
  /** One string per name. */
  readonly single: Record<string, string>;
  /** All values of each name, in the order of arrival. */
  readonly all: Record<string, string[]>;
}

export function emptyFields(): Fields {
  return {
    single: Object.create(null) as Record<string, string>,
    all: Object.create(null) as Record<string, string[]>,
  };
}

/**
 * Parses `application/x-www-form-urlencoded` text, the format of queries and HTML forms. For a repeated name `single`
 * has the last value. Returns the problem if a percent escape is malformed.
 */
export function readUrlEncoded(text: string): Fields | { readonly problem: string } {
  const fields = emptyFields();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? "" : decodePart(pair.slice(equals + 1));
    if (name === undefined || value === undefined)
      return { problem: `${JSON.stringify(pair.slice(0, 100))} contains a percent escape that is not valid UTF-8` };
    fields.single[name] = value;
    const values = fields.all[name];
    if (values === undefined) fields.all[name] = [value];
    else values.push(value);
  }
  return fields;
}

function decodePart(part: string): string | undefined {
  const spaced = part.includes("+") ? part.replaceAll("+", " ") : part;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

/** Headers that may occur only once. If one is repeated, the first is used, as in Node. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set([
  "age",
  "authorization",
  "content-length",
  "content-type",
  "etag",
  "expires",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "retry-after",
  "server",
  "user-agent",
]);

/**
 * Parses alternating names and values, as in Node's `rawHeaders`. Names become lower case. Repeated headers are joined
 * as HTTP allows: with `; ` for cookies, else with `, `.
 */
export function readHeaders(rawHeaders: readonly string[]): Fields {
  const fields = emptyFields();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    const value = rawHeaders[at + 1] as string;
    const values = fields.all[name];
    if (values === undefined) {
      fields.all[name] = [value];
      fields.single[name] = value;
      continue;
    }
    values.push(value);
    if (!SINGLE_HEADERS.has(name)) fields.single[name] += `${name === "cookie" ? "; " : ", "}${value}`;
  }
  return fields;
}
