import { z } from "zod";

/** Maximum number of ids of each kind. Above it, the oldest id of the kind is removed. */
const MAX_REMEMBERED = 100_000;

const KINDS = [
  /** Ids of functions and trigger types that a trusted worker registered. */
  "function",
  "trigger type",
  /** Prefixes of function ids that an auth function assigned to a connection. */
  "prefix",
  /** Ids of functions for which a trusted caller enqueued a job, or that it subscribed to a durable topic. */
  "called function",
  /**
   * Functions that a trusted caller named and that a restricted principal provided at that time. Such a function stays
   * reserved for this principal. An id of this kind is the JSON array `[function, principal]`.
   */
  "chosen function",
] as const;

export type RememberedKind = (typeof KINDS)[number];

/** The id of a `chosen function`. */
const chosenSchema = z.tuple([z.string(), z.string()]);

/** Parses the id of a `chosen function`: function and principal. Throws if it is malformed. */
export function chosenFunctionOf(id: string): readonly [functionId: string, principal: string] {
  return chosenSchema.parse(JSON.parse(id));
}

/**
 * Returns whether `RememberedIds` can read the entry. Returns true for entries of unknown kinds, because they are kept
 * for newer versions of the engine.
 */
export function isRememberedEntry(entry: string): boolean {
  const chosen: RememberedKind = "chosen function";
  if (!entry.startsWith(`${chosen} `)) return true;
  try {
    chosenFunctionOf(entry.slice(chosen.length + 1));
    return true;
  } catch {
    return false;
  }
}

/** Stores entries across restarts, in the order in which they were added. */
export interface SavedIds {
  readonly entries: Iterable<string>;
  /** Why entries of an earlier run are missing, and what to do. Undefined if no entry is missing. */
  readonly problem?: string | undefined;
  /** Adds the entry as the newest. */
  add(entry: string): void;
  remove(entry: string): void;
}

/**
 * Ids that stay reserved while no worker provides them. Each kind has its own limit, so ids of one kind cannot evict
 * ids of another kind.
 */
export class RememberedIds {
  #ids = emptySets();
  #saved: SavedIds | undefined;

  /** Loads the ids of the previous run from `saved`, and persists changes there from now on. */
  keepIn(saved: SavedIds): void {
    const before = this.#ids;
    this.#ids = emptySets();
    for (const entry of saved.entries) {
      const kind = KINDS.find((each) => entry.startsWith(`${each} `));
      if (kind !== undefined) this.#ids[kind].add(entry.slice(kind.length + 1));
    }
    this.#saved = saved;
    for (const kind of KINDS) for (const id of before[kind]) this.add(kind, id);
  }

  get problem(): string | undefined {
    return this.#saved?.problem;
  }

  /** Returns the ids, the oldest first. */
  all(kind: RememberedKind): Iterable<string> {
    return this.#ids[kind];
  }

  has(kind: RememberedKind, id: string): boolean {
    return this.#ids[kind].has(id);
  }

  /**
   * Adds the id as the newest of its kind. Above the limit, removes the oldest id for which `isInUse` returns false.
   */
  add(kind: RememberedKind, id: string, isInUse: (id: string) => boolean = () => false): void {
    const ids = this.#ids[kind];
    ids.delete(id);
    ids.add(id);
    this.#saved?.add(`${kind} ${id}`);
    if (ids.size <= MAX_REMEMBERED) return;
    for (const oldest of ids) {
      if (isInUse(oldest)) continue;
      this.remove(kind, oldest);
      return;
    }
  }

  remove(kind: RememberedKind, id: string): void {
    if (this.#ids[kind].delete(id)) this.#saved?.remove(`${kind} ${id}`);
  }
}

function emptySets(): Record<RememberedKind, Set<string>> {
  return Object.fromEntries(KINDS.map((kind) => [kind, new Set<string>()])) as Record<RememberedKind, Set<string>>;
}
