import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, parse, sep } from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { FolderWatch, folderIdentity } from "./folder-watch.ts";

/** Maximum number of symbolic links in a path. It is the limit of Linux. */
const MAX_LINKS = 40;
/**
 * Maximum number of times that `arm` resolves the paths again because they have changed meanwhile. A change after the
 * last time raises an event.
 */
const MAX_ROUNDS = 20;

export interface PathWatchOptions {
  /** Absolute paths of files or folders. They may be missing. They may be symbolic links, or contain some. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  /** Called when the target of one of the paths may have changed. */
  readonly onEvent: () => void;
  /** Called with a user message when a folder cannot be watched. Called once for each kind of failure. */
  readonly onProblem: (message: string) => void;
}

/** A watched folder. `names` are the names in it that are part of a watched path. */
interface DecidingFolder {
  readonly identity: string;
  readonly names: Set<string>;
}

/**
 * Watches the targets of paths. For each path it watches the folder of the file, the folders of symbolic links in the
 * path and, if the file is missing, the deepest folder that exists.
 */
export class PathWatch {
  readonly #paths: readonly string[];
  readonly #watch: FolderWatch;
  #folders: ReadonlyMap<string, DecidingFolder> = new Map();

  constructor({ paths, clock, onEvent, onProblem }: PathWatchOptions) {
    this.#paths = paths;
    this.#watch = new FolderWatch({
      clock,
      onEvent: ({ folder, name }) => {
        if (name === undefined || this.#folders.get(folder)?.names.has(comparable(name)) !== false) onEvent();
      },
      onProblem,
    });
  }

  /**
   * Watches the current targets of the paths. Must be called before each read of the files, so that later changes raise
   * an event.
   */
  arm(): void {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const folders = new Map<string, DecidingFolder>();
      for (const path of this.#paths) collectFolders(path, folders);
      for (const folder of this.#folders.keys()) if (!folders.has(folder)) this.#watch.disarm(folder);
      this.#folders = folders;
      const outcomes = [...folders].map(([folder, { identity }]) => this.#watch.arm(folder, identity));
      // Resolve the paths again: links and folders may have changed before the folders that contain them were watched.
      if (!outcomes.some((outcome) => outcome === "armed" || outcome === "missing")) return;
    }
  }

  /** Stops watching. No callback is called afterwards. */
  close(): void {
    this.#watch.close();
  }
}

/**
 * Resolves a path like the operating system, and adds the folders to watch. The paths of these folders contain no
 * symbolic links.
 */
function collectFolders(path: string, folders: Map<string, DecidingFolder>): void {
  const { root } = parse(path);
  let folder = root;
  let rest = namesOf(path.slice(root.length));
  for (let links = 0; links <= MAX_LINKS; ) {
    const [name, ...after] = rest;
    if (name === undefined) return;
    if (name === "..") {
      [folder, rest] = [dirname(folder), after];
      continue;
    }
    const entry = join(folder, name);
    const stats = statsOf(entry);
    const target = stats?.isSymbolicLink() === true ? targetOf(entry) : undefined;
    const isOnTheWay = stats?.isDirectory() === true && after.length > 0;
    // The root folder is not watched for links in it, e.g. macOS's /tmp, because such links do not change. On macOS a
    // watch of the root folder would raise events for all files of the machine.
    if (!isOnTheWay && !(target !== undefined && after.length > 0 && folder === root)) add(folders, folder, name);
    if (target !== undefined) {
      links += 1;
      if (parse(target).root !== "") folder = parse(target).root;
      rest = [...namesOf(target.slice(parse(target).root.length)), ...after];
    } else if (isOnTheWay) {
      [folder, rest] = [entry, after];
    } else {
      return;
    }
  }
}

function add(folders: Map<string, DecidingFolder>, folder: string, name: string): void {
  const known = folders.get(folder);
  if (known !== undefined) {
    known.names.add(comparable(name));
    return;
  }
  const stats = statsOf(folder);
  folders.set(folder, {
    identity: stats === undefined ? "" : folderIdentity(stats),
    names: new Set([comparable(name)]),
  });
}

/** Returns undefined if the entry does not exist or cannot be reached. */
function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== "" && name !== ".");
}

/**
 * Normalizes a name for comparison, because some file systems treat names as equal that differ only in case or Unicode
 * normalization.
 */
function comparable(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
