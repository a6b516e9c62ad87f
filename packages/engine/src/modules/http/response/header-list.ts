/** Headers of a response: names and values alternate, names may repeat. Names are case-insensitive. */
export type HeaderList = readonly string[];

/** Returns the first value of a header. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (isNamed(headers, at, name)) return headers[at + 1];
  return undefined;
}

/** Returns the headers with `name` set to this one value. */
export function withHeader(headers: HeaderList, name: string, value: string): string[] {
  return [...withoutHeader(headers, name), name, value];
}

export function withoutHeader(headers: HeaderList, name: string): string[] {
  return headers.filter((_, at) => !isNamed(headers, at - (at % 2), name));
}

/**
 * Returns the headers with a single `Vary` header, which contains `names` and the names in the previous `Vary` headers.
 */
export function withVary(headers: HeaderList, ...names: readonly string[]): string[] {
  const all: string[] = [];
  for (let at = 0; at < headers.length; at += 2)
    if (isNamed(headers, at, "vary")) all.push(...(headers[at + 1] ?? "").split(","));
  const distinct = new Map([...all, ...names].map((each) => [each.trim().toLowerCase(), each.trim()]));
  return withHeader(headers, "Vary", distinct.has("*") ? "*" : [...distinct.values()].join(", "));
}

function isNamed(headers: HeaderList, at: number, name: string): boolean {
  const given = headers[at] ?? "";
  return given.length === name.length && given.toLowerCase() === name.toLowerCase();
}
