const MAX_CACHED = 1_000;
const cache = new Map<string, string>();

/**
 * Returns the official spelling of an IANA zone, e.g. `Europe/Berlin` for `europe/berlin`, or undefined if there is no
 * such zone.
 */
export function canonicalTimeZone(name: string): string | undefined {
  const found = cache.get(name);
  if (found !== undefined) return found;
  // Some runtimes accept offsets too, but offsets have no daylight saving, and other runtimes reject them.
  if (!/^[A-Za-z]/.test(name) || name.length > 64) return undefined;
  try {
    const zone = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(name, zone);
    return zone;
  } catch {
    return undefined;
  }
}
