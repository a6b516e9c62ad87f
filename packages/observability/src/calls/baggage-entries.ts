const MAX_ENTRIES = 180;

const NONE: Readonly<Record<string, string>> = Object.freeze(Object.create(null) as Record<string, string>);

/** Returns the entries of a W3C baggage header, percent-decoded where possible: `key=value;property,key2=value2`. */
export function baggageEntries(header: string | undefined): Readonly<Record<string, string>> {
  if (header === undefined || header === "") return NONE;
  const entries = Object.create(null) as Record<string, string>;
  let count = 0;
  for (const member of header.split(",")) {
    const [pair = ""] = member.split(";", 1);
    const at = pair.indexOf("=");
    const key = pair.slice(0, Math.max(at, 0)).trim();
    if (key === "") continue;
    if (++count > MAX_ENTRIES) break;
    entries[key] = decoded(pair.slice(at + 1).trim());
  }
  return entries;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
