import { createHash } from "node:crypto";

/** What the makers of models allow: letters, digits, `_` and `-`. */
const MAX_LENGTH = 64;
const MARK_LENGTH = 8;

/** Names of tools for functions: `math::add` becomes `math__add`. Where two would be the same, or one too long, a mark made of the id tells them apart. */
export class ToolNames {
  #names: ReadonlyMap<string, string> = new Map();

  /** The functions that there are now. One that was there before keeps its name. */
  update(ids: readonly string[]): ReadonlyMap<string, string> {
    const kept = new Map(ids.flatMap((id) => (this.#names.has(id) ? [[id, this.#names.get(id) ?? ""] as const] : [])));
    const taken = new Set(kept.values());
    for (const id of ids.filter((candidate) => !kept.has(candidate)).sort()) {
      const plain = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
      let name = plain;
      for (let attempt = 0; name.length > MAX_LENGTH || taken.has(name); attempt += 1) {
        name = `${plain.slice(0, MAX_LENGTH - MARK_LENGTH - 1)}_${markOf(attempt === 0 ? id : `${id} ${attempt}`)}`;
      }
      kept.set(id, name);
      taken.add(name);
    }
    this.#names = kept;
    return kept;
  }
}

function markOf(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, MARK_LENGTH);
}
