import { createHash } from "node:crypto";

/** Maximum length of a tool name, in characters. Model providers allow 64, and only letters, digits, `_` and `-`. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Maps function ids to tool names: `math::add` becomes `math__add`. If a name is too long or already used, it gets a
 * hash of the id as a suffix.
 */
export class ToolNames {
  #names: ReadonlyMap<string, string> = new Map();

  /** Updates the names for the current functions. Functions that were known before keep their names. */
  update(ids: readonly string[]): ReadonlyMap<string, string> {
    const kept = new Map(ids.flatMap((id) => (this.#names.has(id) ? [[id, this.#names.get(id) ?? ""] as const] : [])));
    const taken = new Set(kept.values());
    for (const id of ids.filter((candidate) => !kept.has(candidate)).sort()) {
      const plain = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
      let name = plain;
      for (let attempt = 0; name.length > MAX_LENGTH || taken.has(name); attempt += 1) {
        name = `${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hashOf(attempt === 0 ? id : `${id} ${attempt}`)}`;
      }
      kept.set(id, name);
      taken.add(name);
    }
    this.#names = kept;
    return kept;
  }
}

function hashOf(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, HASH_LENGTH);
}
