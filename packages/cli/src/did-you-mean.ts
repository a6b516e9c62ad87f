/** Returns the end of a message: `; did you mean X?` with the nearest candidate, or an empty string if none is near. */
export async function didYouMean(name: string, candidates: Iterable<string>): Promise<string> {
  const nearest = await nearestOf(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** Returns the candidate that is nearest to `name`, or undefined if none is near. */
export async function nearestOf(name: string, candidates: Iterable<string>): Promise<string | undefined> {
  // Imported lazily, because it is needed only for errors.
  const { nearestName } = await import("@svc-runtime/engine/local-workers");
  return nearestName(name, candidates);
}
