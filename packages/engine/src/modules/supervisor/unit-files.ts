import { stat } from "node:fs/promises";
import { relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { SupervisedEntry, WatchPatterns } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isDependencyFile } from "../../local-workers/dependency-files.ts";
import { MANIFEST_FILE, REFERENCE_MANIFEST_FILE } from "../../local-workers/manifest.ts";
import { FileWatch } from "./file-watch.ts";
import type { RunPlan } from "./recipe.ts";
import { SourceWatch } from "./source-watch.ts";

/** A folder that is missing cannot be watched, so it is looked for. */
const MISSING_FOLDER_LOOK_MS = 5_000;

export interface UnitFilesOptions {
  /** Absolute paths of files of variables, in the folder and outside of it. */
  readonly envFiles: readonly string[];
  readonly clock: Clock;
  readonly onChange: (paths: readonly string[]) => void;
  readonly onProblem: (message: string) => void;
}

/** The files of one unit: which of them are watched, and whether its folder is there at all. */
export class UnitFiles {
  readonly #entry: SupervisedEntry;
  readonly #options: UnitFilesOptions;
  readonly #filesElsewhere: readonly string[];
  /** Relative to the folder. */
  readonly #filesWithin: readonly string[];
  #watched: { readonly patterns: WatchPatterns; readonly source: SourceWatch } | undefined;
  #elsewhere: FileWatch | undefined;
  #endSearch: (() => void) | undefined;

  constructor(entry: SupervisedEntry, options: UnitFilesOptions) {
    this.#entry = entry;
    this.#options = options;
    const isWithin = (path: string): boolean => path.startsWith(`${entry.path}${sep}`);
    this.#filesElsewhere = options.envFiles.filter((path) => !isWithin(path));
    this.#filesWithin = options.envFiles.filter(isWithin).map((path) => relative(entry.path, path).split(sep).join("/"));
  }

  /** Watches as the plan says; without a plan as the last one did. True when that is a new watch. */
  async watch(plan: RunPlan | undefined): Promise<boolean> {
    const { watch, path } = this.#entry;
    if (watch === false) return false;
    if (plan?.watch === false) {
      await this.close();
      return false;
    }
    await this.#watchElsewhere();
    const patterns = plan?.watch ?? this.#watched?.patterns ?? watch;
    if (this.#watched !== undefined && isDeepStrictEqual(this.#watched.patterns, patterns)) return false;
    if (!(await isFolder(path))) return false;
    await this.#watched?.source.close();
    const { clock, onChange, onProblem } = this.#options;
    // How a worker is installed and run is of interest wherever its sources are.
    const always = (name: string): boolean => isDependencyFile(name) || isManifest(name);
    const source = new SourceWatch({ folder: path, ...patterns, always, named: this.#filesWithin, clock, onChange, onProblem });
    this.#watched = { patterns, source };
    await source.rebase();
    return true;
  }

  /** What the files hold now is what later changes are told against. */
  async rebase(): Promise<void> {
    await this.#watched?.source.rebase();
  }

  /** Tells now what has changed, without waiting for more. */
  async compare(): Promise<void> {
    await this.#watched?.source.compare();
  }

  async close(): Promise<void> {
    const [watched, elsewhere] = [this.#watched, this.#elsewhere];
    this.#watched = undefined;
    this.#elsewhere = undefined;
    await Promise.all([watched?.source.close(), elsewhere?.close()]);
  }

  async #watchElsewhere(): Promise<void> {
    if (this.#filesElsewhere.length === 0) return;
    const { clock, onChange, onProblem } = this.#options;
    this.#elsewhere ??= new FileWatch({ files: this.#filesElsewhere, clock, onChange, onProblem });
    await this.#elsewhere.ready;
  }

  /** Looks for the folder, which cannot be watched before it is there, until it is found or the search is ended. */
  search(onFound: () => void): void {
    if (this.#watched !== undefined || this.#entry.watch === false) return;
    this.endSearch();
    let isOver = false;
    const cancel = this.#options.clock.after(MISSING_FOLDER_LOOK_MS, () => {
      // `isFolder` does not reject.
      void isFolder(this.#entry.path).then((isThere) => {
        if (isOver) return;
        if (isThere) onFound();
        else this.search(onFound);
      });
    });
    this.#endSearch = () => {
      isOver = true;
      cancel();
    };
  }

  endSearch(): void {
    this.#endSearch?.();
    this.#endSearch = undefined;
  }
}

export function isManifest(path: string): boolean {
  return path === MANIFEST_FILE || path === REFERENCE_MANIFEST_FILE;
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}
