/** Headers of an answer: names and values in turn, names may repeat. Names count regardless of case. */
export type HeaderList = readonly string[];

/** The first value of a header. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (isNamed(headers, at, name)) return headers[at + 1];
  return undefined;
}

/** The headers with this one value for `name`, in place of what it had. */
export function withHeader(headers: HeaderList, name: string, value: string): string[] {
  return [...withoutHeader(headers, name), name, value];
}

export function withoutHeader(headers: HeaderList, name: string): string[] {
  return headers.filter((_, at) => !isNamed(headers, at - (at % 2), name));
}

/** The headers whose one `Vary` names all that the given ones name, and `names` too. */
export function withVary(headers: HeaderList, ...names: readonly string[]): string[] {
  const all: string[] = [];
  for (let at = 0; at < headers.length; at += 2) if (isNamed(headers, at, "vary")) all.push(...(headers[at + 1] ?? "").split(","));
  const distinct = new Map([...all, ...names].map((each) => [each.trim().toLowerCase(), each.trim()]));
  return withHeader(headers, "Vary", distinct.has("*") ? "*" : [...distinct.values()].join(", "));
}

function isNamed(headers: HeaderList, at: number, name: string): boolean {
  const given = headers[at] ?? "";
  return given.length === name.length && given.toLowerCase() === name.toLowerCase();
}
