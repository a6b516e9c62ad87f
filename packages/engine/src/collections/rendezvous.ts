/**
 * Returns the first choice among the candidates for a key, by rendezvous hashing. Everyone who knows the same
 * candidates chooses the same one. If a candidate leaves, another candidate is chosen only for the keys for which it
 * was the choice. Returns undefined if there are no candidates.
 */
export function firstChoice(key: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestWeight = -1;
  for (const candidate of candidates) {
    const weight = hash(`${key} ${candidate}`);
    if (weight < bestWeight || (weight === bestWeight && best !== undefined && best < candidate)) continue;
    best = candidate;
    bestWeight = weight;
  }
  return best;
}

/** FNV-1a with 32 bits, and a final mix, so that similar texts get different weights. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
