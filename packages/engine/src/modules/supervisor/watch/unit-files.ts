import { relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { SupervisedEntry, WatchPatterns } from "../../../config/types.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { isDependencyFile } from "../../../local-workers/dependency-files.ts";
import { MANIFEST_FILE, REFERENCE_MANIFEST_FILE } from "../../../local-workers/manifest.ts";
import type { RunPlan } from "../unit-preparation.ts";
import { FileWatch } from "./file-watch.ts";
import { SourceWatch } from "./source-watch.ts";

export interface UnitFilesOptions {
  /** Absolute paths of env files, in the folder and outside of it. */
  readonly envFiles: readonly string[];
  readonly clock: Clock;
  readonly onChange: (paths: readonly string[]) => void;
  readonly onProblem: (message: string) => void;
}

/**
 * Watches the files of one unit: the files in its folder, which may be missing, and env files outside of the folder.
 */
export class UnitFiles {
  readonly #entry: SupervisedEntry;
  readonly #options: UnitFilesOptions;
  readonly #filesElsewhere: readonly string[];
  /** Env files within the folder, relative to it. */
  readonly #filesWithin: readonly string[];
  #watched: { readonly patterns: WatchPatterns; readonly source: SourceWatch } | undefined;
  #elsewhere: FileWatch | undefined;

  constructor(entry: SupervisedEntry, options: UnitFilesOptions) {
    this.#entry = entry;
    this.#options = options;
    const isWithin = (path: string): boolean => path.startsWith(`${entry.path}${sep}`);
    this.#filesElsewhere = options.envFiles.filter((path) => !isWithin(path));
    this.#filesWithin = options.envFiles
      .filter(isWithin)
      .map((path) => relative(entry.path, path).split(sep).join("/"));
  }

  /**
   * Watches the files of the plan. If `plan` is undefined, watches the files of the entry. Returns true if the watch is
   * new. A new watch does not report earlier changes, so the caller must read the plan again.
   */
  async watch(plan: RunPlan | undefined): Promise<boolean> {
    const { watch, path } = this.#entry;
    if (watch === false) return false;
    if (plan?.watch === false) {
      await this.close();
      return false;
    }
    await this.#watchElsewhere();
    const patterns = plan?.watch ?? watch;
    if (this.#watched !== undefined && isDeepStrictEqual(this.#watched.patterns, patterns)) return false;
    await this.#watched?.source.close();
    const { clock, onChange, onProblem } = this.#options;
    // Dependency files and the manifest are always watched, also outside of `include`.
    const always = (name: string): boolean => isDependencyFile(name) || isManifest(name);
    const source = new SourceWatch({
      folder: path,
      ...patterns,
      always,
      named: this.#filesWithin,
      clock,
      onChange,
      onProblem,
    });
    this.#watched = { patterns, source };
    await source.rebase();
    return true;
  }

  /**
   * Watches the files of an earlier plan, unless there is a watch already. Call it if the current plan cannot be read.
   * Returns the same as `watch`.
   */
  async watchAsBefore(former: RunPlan | undefined): Promise<boolean> {
    return this.#watched === undefined && this.watch(former);
  }

  /** Makes the current content the reference for later changes. */
  async rebase(): Promise<void> {
    await this.#watched?.source.rebase();
  }

  /** Reports changes now, without waiting for further changes. */
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
}

export function isManifest(path: string): boolean {
  return path === MANIFEST_FILE || path === REFERENCE_MANIFEST_FILE;
}
