/** Returns `; did you mean X?` with the nearest candidate, or an empty string, for the end of a message. */
export async function didYouMean(name: string, candidates: Iterable<string>): Promise<string> {
  const nearest = await nearestOf(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** Returns the candidate nearest to `name`. */
export async function nearestOf(name: string, candidates: Iterable<string>): Promise<string | undefined> {
  // Imported lazily: only errors need it.
  const { nearestName } = await import("@svc-runtime/engine/local-workers");
  return nearestName(name, candidates);
}
