import { z } from "zod";

/** Maximum number of ids of each kind. Beyond it the oldest are forgotten. */
const MAX_REMEMBERED = 100_000;

const KINDS = [
  /** A trusted worker registered it. */
  "function",
  "trigger type",
  /** An auth function gave it to a connection. */
  "prefix",
  /** A trusted caller put a job on a queue that names the function, or subscribed it to a durable topic. */
  "called function",
  /** A trusted caller named a function that a restricted principal provided: it stays that principal's. As JSON: `[function, principal]`. */
  "chosen function",
] as const;

export type RememberedKind = (typeof KINDS)[number];

/** The id of a `chosen function`. */
const chosenSchema = z.tuple([z.string(), z.string()]);

/** Reads the id of a `chosen function`: the function and the principal. Throws if it is another text. */
export function chosenFunctionOf(id: string): readonly [functionId: string, principal: string] {
  return chosenSchema.parse(JSON.parse(id));
}

/** Whether it is an entry that `RememberedIds` can read. A kind that only a newer engine knows counts: its entries are kept for that one. */
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

/** Keeps entries over restarts. The oldest come first. */
export interface SavedIds {
  readonly entries: Iterable<string>;
  /** Why entries of an earlier run are not known, and what to do; undefined if they are known. */
  readonly problem?: string | undefined;
  /** As the newest one. */
  add(entry: string): void;
  remove(entry: string): void;
}

/** Ids that matter although nobody has registered them at present. Each kind has a limit of its own, so that one cannot displace another. */
export class RememberedIds {
  #ids = emptySets();
  #saved: SavedIds | undefined;

  /** From now on the ids are kept in `saved`, which has those of the run before. */
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

  /** The oldest first. */
  all(kind: RememberedKind): Iterable<string> {
    return this.#ids[kind];
  }

  has(kind: RememberedKind, id: string): boolean {
    return this.#ids[kind].has(id);
  }

  /** Adds the id as the newest of its kind. Over the limit, removes the oldest for which `isInUse` is false. */
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
