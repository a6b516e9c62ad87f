/** `; did you mean X?` for the candidate that was probably meant, or an empty text. Goes at the end of a message. */
export async function didYouMean(name: string, candidates: Iterable<string>): Promise<string> {
  const nearest = await nearestOf(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** The candidate that `name` was probably meant to be. */
export async function nearestOf(name: string, candidates: Iterable<string>): Promise<string | undefined> {
  // Loaded here and not above: only mistakes need it.
  const { nearestName } = await import("@svc/engine/local-workers");
  return nearestName(name, candidates);
}
