import { statSync } from "node:fs";

/** Notes which files a database has when it is opened, to find out whether they are still the ones at its path. */
export class FileIdentity {
  readonly #file: string;
  readonly #known = new Map<string, string>();

  constructor(file: string) {
    this.#file = file;
    this.problem();
  }

  /** What is written now would be lost: the database or its log was moved, removed or replaced. Undefined when both are in place. */
  problem(): string | undefined {
    for (const path of [this.#file, `${this.#file}-wal`]) {
      const found = identityOf(path);
      const known = this.#known.get(path);
      // A log is made by the first write.
      if (known === undefined && found !== undefined) this.#known.set(path, found);
      else if (found === undefined && known !== undefined) return `${path} was moved or removed while the engine used it; put it back, or restart the engine`;
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
    // Its folder is not reachable.
    return undefined;
  }
}
