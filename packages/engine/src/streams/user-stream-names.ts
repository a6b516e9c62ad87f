import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { StreamEvent, StreamSource } from "../kernel/stream-contract.ts";

/** Maximum number of stored names. If there are more streams, the number that is shown is too small. */
const MAX_NAMES = 100_000;
/**
 * After a deletion, the streams are counted again, but at most once in this time, in milliseconds. If counting takes
 * long, the pause is SHARE times its duration, so that at most a twentieth of the time is spent on counting.
 */
const RECOUNT_MS = 1_000;
const SHARE = 20;

type Groups = Awaited<ReturnType<StreamSource["groups"]>>;

/**
 * Names of the user-defined streams. A stream is included in three cases: it had items at the last count; functions
 * store its items, and it had an event; it has subscribers.
 */
export class UserStreamNames {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: (stream: string, op: "created" | "removed") => void;
  #withItems = new Set<string>();
  /** For each running count: the streams that got items since it began, because the count may have missed them. */
  readonly #runningCounts = new Set<Set<string>>();
  /** Streams whose items are stored by functions, so that the source cannot count them. */
  readonly #functionBacked = new Set<string>();
  readonly #subscribers = new Map<string, number>();
  #source: StreamSource | undefined;
  #cancelRecount: (() => void) | undefined;
  #pauseMs = RECOUNT_MS;

  constructor(parts: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly onChange: (stream: string, op: "created" | "removed") => void;
  }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#onChange = parts.onChange;
  }

  get count(): number {
    let count = this.#withItems.size;
    for (const name of this.#functionBacked) if (!this.#withItems.has(name)) count++;
    for (const name of this.#subscribers.keys()) if (!this.#holds(name)) count++;
    return count;
  }

  get functionBacked(): Iterable<string> {
    return this.#functionBacked;
  }

  #holds(stream: string): boolean {
    return this.#withItems.has(stream) || this.#functionBacked.has(stream);
  }

  /** Counts the streams of this source. Undefined: there is no provider. */
  follow(source: StreamSource | undefined): void {
    this.#source = source;
    this.#cancelRecount?.();
    this.#cancelRecount = undefined;
    if (source !== undefined) {
      this.#recount(source);
      return;
    }
    const kept = [...this.#functionBacked];
    this.#functionBacked.clear();
    for (const name of kept)
      if (!this.#withItems.has(name) && !this.#subscribers.has(name)) this.#onChange(name, "removed");
    this.#replace(new Set());
  }

  /** Lists the source's groups and updates the count with them, so that list and count agree. */
  async listed(source: StreamSource): Promise<Groups> {
    const since = new Set<string>();
    this.#runningCounts.add(since);
    try {
      const groups = await source.groups();
      if (this.#source === source) this.#replace(new Set([...since, ...streamsOf(groups)]));
      return groups;
    } finally {
      this.#runningCounts.delete(since);
    }
  }

  published({ stream, type, version }: StreamEvent): void {
    if (type === "event") return;
    if (type === "delete") {
      this.#recountSoon();
      return;
    }
    // An event of an item without a version is from a stream whose items functions store.
    const names = version === undefined ? this.#functionBacked : this.#withItems;
    if (version !== undefined) for (const since of this.#runningCounts) if (since.size < MAX_NAMES) since.add(stream);
    if (names.has(stream) || names.size >= MAX_NAMES) return;
    const isNew = !this.#holds(stream) && !this.#subscribers.has(stream);
    names.add(stream);
    if (isNew) this.#onChange(stream, "created");
  }

  /** Counts a subscription that was added (1) or removed (-1). */
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

  #replace(names: Set<string>): void {
    const before = this.#withItems;
    this.#withItems = names;
    const existsOtherwise = (name: string): boolean => this.#functionBacked.has(name) || this.#subscribers.has(name);
    for (const name of before) if (!names.has(name) && !existsOtherwise(name)) this.#onChange(name, "removed");
    for (const name of names) if (!before.has(name) && !existsOtherwise(name)) this.#onChange(name, "created");
  }
}

function streamsOf(groups: Groups): readonly string[] {
  return [...new Set(groups.map(({ stream }) => stream))].slice(0, MAX_NAMES);
}
