import { statSync } from "node:fs";

/** Detects whether the files of an open database were moved, removed or replaced. */
export class FileIdentity {
  readonly #file: string;
  readonly #known = new Map<string, string>();

  constructor(file: string) {
    this.#file = file;
    this.problem();
  }

  /**
   * Returns a user message if the database or its write-ahead log was moved, removed or replaced. Further writes would
   * then be lost. Returns undefined otherwise.
   */
  problem(): string | undefined {
    for (const path of [this.#file, `${this.#file}-wal`]) {
      const found = identityOf(path);
      const known = this.#known.get(path);
      // The first write creates the log.
      if (known === undefined && found !== undefined) this.#known.set(path, found);
      else if (found === undefined && known !== undefined)
        return `${path} was moved or removed while the engine used it; put it back, or restart the engine`;
      else if (found !== known)
        return `${path} was replaced by another file while the engine used it; restart the engine to use that one, or put the first one back`;
    }
    return undefined;
  }
}

function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
  } catch {
    // The folder cannot be accessed.
    return undefined;
  }
}
