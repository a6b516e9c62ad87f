import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { StreamEvent, StreamSource } from "../stream-contract.ts";

/** Names that are kept; of more streams than that the number shown is too small. */
const MAX_NAMES = 100_000;
/** After a deletion the streams are counted again, but not more often than this, in milliseconds, nor for more than a twentieth of the time. */
const RECOUNT_MS = 1_000;
const SHARE = 20;

type Groups = Awaited<ReturnType<StreamSource["groups"]>>;

/** Which user-defined streams there are: with items as last counted, written by functions that keep their items, or with subscribers. */
export class UserStreamNames {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: (stream: string, op: "created" | "removed") => void;
  #withItems = new Set<string>();
  /** For each count under way which got items since it began: it may not have seen them. */
  readonly #underWay = new Set<Set<string>>();
  /** Whose items are not the source's to count: functions keep them. */
  readonly #keptElsewhere = new Set<string>();
  readonly #subscribers = new Map<string, number>();
  #source: StreamSource | undefined;
  #cancelRecount: (() => void) | undefined;
  #pauseMs = RECOUNT_MS;

  constructor(parts: { readonly clock: Clock; readonly log: Logger; readonly onChange: (stream: string, op: "created" | "removed") => void }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#onChange = parts.onChange;
  }

  get count(): number {
    let count = this.#withItems.size;
    for (const name of this.#keptElsewhere) if (!this.#withItems.has(name)) count++;
    for (const name of this.#subscribers.keys()) if (!this.#holds(name)) count++;
    return count;
  }

  get keptElsewhere(): Iterable<string> {
    return this.#keptElsewhere;
  }

  #holds(stream: string): boolean {
    return this.#withItems.has(stream) || this.#keptElsewhere.has(stream);
  }

  /** Counts what this source keeps; undefined: nobody keeps any. */
  follow(source: StreamSource | undefined): void {
    this.#source = source;
    this.#cancelRecount?.();
    this.#cancelRecount = undefined;
    if (source !== undefined) {
      this.#recount(source);
      return;
    }
    const kept = [...this.#keptElsewhere];
    this.#keptElsewhere.clear();
    for (const name of kept) if (!this.#withItems.has(name) && !this.#subscribers.has(name)) this.#onChange(name, "removed");
    this.#take(new Set());
  }

  /** Lists what the source keeps, and counts by it: who lists streams and who counts them shall not differ. */
  async listed(source: StreamSource): Promise<Groups> {
    const since = new Set<string>();
    this.#underWay.add(since);
    try {
      const groups = await source.groups();
      if (this.#source === source) this.#take(new Set([...since, ...streamsOf(groups)]));
      return groups;
    } finally {
      this.#underWay.delete(since);
    }
  }

  published({ stream, type, version }: StreamEvent): void {
    if (type === "event") return;
    if (type === "delete") {
      this.#recountSoon();
      return;
    }
    // Only what functions keep has no versions.
    const names = version === undefined ? this.#keptElsewhere : this.#withItems;
    if (version !== undefined) for (const since of this.#underWay) if (since.size < MAX_NAMES) since.add(stream);
    if (names.has(stream) || names.size >= MAX_NAMES) return;
    const isNew = !this.#holds(stream) && !this.#subscribers.has(stream);
    names.add(stream);
    if (isNew) this.#onChange(stream, "created");
  }

  /** A subscription has come (1) or gone (-1). */
  subscribed(stream: string, change: 1 | -1): void {
    const before = this.#subscribers.get(stream) ?? 0;
    if (before + change > 0) this.#subscribers.set(stream, before + change);
    else this.#subscribers.delete(stream);
    if (this.#holds(stream)) return;
    if (before === 0) this.#onChange(stream, "created");
    else if (before + change === 0) this.#onChange(stream, "removed");
  }

  #recountSoon(): void {
    this.#cancelRecount ??= this.#clock.after(this.#pauseMs, () => {
      this.#cancelRecount = undefined;
      if (this.#source !== undefined) this.#recount(this.#source);
    });
  }

  #recount(source: StreamSource): void {
    const startedAt = this.#clock.monotonic();
    this.listed(source).then(
      () => {
        this.#pauseMs = Math.max(RECOUNT_MS, (this.#clock.monotonic() - startedAt) * SHARE);
      },
      (error: unknown) => this.#log.warn("the user-defined streams could not be counted", { error }),
    );
  }

  #take(names: Set<string>): void {
    const before = this.#withItems;
    this.#withItems = names;
    const isThereAnyway = (name: string): boolean => this.#keptElsewhere.has(name) || this.#subscribers.has(name);
    for (const name of before) if (!names.has(name) && !isThereAnyway(name)) this.#onChange(name, "removed");
    for (const name of names) if (!before.has(name) && !isThereAnyway(name)) this.#onChange(name, "created");
  }
}

function streamsOf(groups: Groups): readonly string[] {
  return [...new Set(groups.map(({ stream }) => stream))].slice(0, MAX_NAMES);
}
