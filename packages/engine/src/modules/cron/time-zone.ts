const MAX_KEPT = 1_000;
const known = new Map<string, string>();

/** The name of an IANA zone as the database spells it, e.g. `Europe/Berlin` for `europe/berlin`; undefined for what is none. */
export function canonicalTimeZone(name: string): string | undefined {
  const found = known.get(name);
  if (found !== undefined) return found;
  // Some runtimes take offsets too; they say nothing about daylight saving, and others refuse them.
  if (!/^[A-Za-z]/.test(name) || name.length > 64) return undefined;
  try {
    const zone = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
    if (known.size >= MAX_KEPT) known.clear();
    known.set(name, zone);
    return zone;
  } catch {
    return undefined;
  }
}
