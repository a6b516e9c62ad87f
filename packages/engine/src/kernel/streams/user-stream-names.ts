import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { StreamEvent, StreamSource } from "../stream-contract.ts";

/** Names that are kept; of more streams than that the number shown is too small. */
const MAX_NAMES = 100_000;
/** After a deletion the streams are counted again, but not more often than this, in milliseconds, nor for more than a twentieth of the time. */
const RECOUNT_MS = 1_000;
const SHARE = 20;

/** Which user-defined streams there are: with items as last counted, or with subscribers. */
export class UserStreamNames {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: (stream: string, op: "created" | "removed") => void;
  #withItems = new Set<string>();
  /** Which got items since the count under way began: it may not have seen them. */
  #sinceCount = new Set<string>();
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
    for (const name of this.#subscribers.keys()) if (!this.#withItems.has(name)) count++;
    return count;
  }

  /** Counts what this source keeps; undefined: nobody keeps any. */
  follow(source: StreamSource | undefined): void {
    this.#source = source;
    this.#cancelRecount?.();
    this.#cancelRecount = undefined;
    if (source === undefined) this.#take(new Set());
    else this.#recount(source);
  }

  published({ stream, type }: StreamEvent): void {
    if (type === "event") return;
    if (type === "delete") {
      this.#recountSoon();
      return;
    }
    if (this.#sinceCount.size < MAX_NAMES) this.#sinceCount.add(stream);
    if (!this.#withItems.has(stream) && this.#withItems.size < MAX_NAMES) {
      const isNew = !this.#subscribers.has(stream);
      this.#withItems.add(stream);
      if (isNew) this.#onChange(stream, "created");
    }
  }

  /** A subscription has come (1) or gone (-1). */
  subscribed(stream: string, change: 1 | -1): void {
    const before = this.#subscribers.get(stream) ?? 0;
    if (before + change > 0) this.#subscribers.set(stream, before + change);
    else this.#subscribers.delete(stream);
    if (this.#withItems.has(stream)) return;
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
    this.#sinceCount = new Set();
    const startedAt = this.#clock.monotonic();
    source.groups().then(
      (groups) => {
        this.#pauseMs = Math.max(RECOUNT_MS, (this.#clock.monotonic() - startedAt) * SHARE);
        if (this.#source !== source) return;
        const names = new Set(this.#sinceCount);
        for (const { stream } of groups) if (names.size < MAX_NAMES) names.add(stream);
        this.#take(names);
      },
      (error: unknown) => this.#log.warn("the user-defined streams could not be counted", { error }),
    );
  }

  #take(names: Set<string>): void {
    const before = this.#withItems;
    this.#withItems = names;
    for (const name of before) if (!names.has(name) && !this.#subscribers.has(name)) this.#onChange(name, "removed");
    for (const name of names) if (!before.has(name) && !this.#subscribers.has(name)) this.#onChange(name, "created");
  }
}
