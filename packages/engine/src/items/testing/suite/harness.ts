import { afterEach, beforeEach } from "vitest";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import type {
  Conflict,
  Item,
  ItemStore,
  ItemUpdate,
  ItemUpdated,
  ItemValue,
  ItemWrite,
  ItemWritten,
} from "../../item-store.ts";
import type { ChangeKind, Notice } from "../../outbox.ts";
import type { UpdateOp } from "../../update-op.ts";

/** Clock with real timers. The test advances the time with `time` and sets the wall clock with `setByMs`. */
export interface SuiteClock extends Clock {
  time: number;
  setByMs: number;
}

export function suiteClock(): SuiteClock {
  return { ...systemClock, time: 1_000_000, setByMs: 0, now: wallTimeOf, monotonic: timeOf };
}

function wallTimeOf(this: SuiteClock): number {
  return this.time + this.setByMs;
}

function timeOf(this: SuiteClock): number {
  return this.time;
}

/** Returns the value with this JSON. */
export function newValue(json: string, expiresAt?: number): ItemValue {
  return { json, bytes: Buffer.byteLength(json), expiresAt };
}

/** Returns the parameters of a write. */
export function newWrite(write: Partial<ItemWrite> = {}): ItemWrite {
  return { now: 1_000, ifVersion: undefined, notice: undefined, ...write };
}

/** Returns a notice for these watchers. They want the given kinds of changes; default all. */
export function noticeFor(
  names: readonly string[],
  kinds: readonly ChangeKind[] = ["created", "updated", "deleted"],
): Notice {
  return { watchers: names.map((id) => ({ id, kinds: new Set(kinds) })), origin: "from a test" };
}

export const wholeScope = { prefix: "", after: undefined, limit: 1_000, maxBytes: 1_000_000 };

export function written<Outcome extends ItemWritten>(outcome: Outcome | Conflict): Outcome {
  if (outcome.status === "conflict") throw new Error(`a write found version ${outcome.actual}`);
  return outcome;
}

interface SetOptions {
  readonly ifVersion?: number;
  readonly expiresAt?: number;
  readonly notice?: Notice;
  readonly now?: number;
}

/** The store of the current test. Each test has a new one. */
export class Suite {
  clock: SuiteClock = suiteClock();
  #store: ItemStore | undefined;

  constructor(open: (clock: Clock) => Promise<ItemStore>) {
    beforeEach(async () => {
      this.clock = suiteClock();
      this.#store = await open(this.clock);
    });
    afterEach(() => this.store.close());
  }

  get store(): ItemStore {
    if (this.#store === undefined) throw new Error("the suite's store is there only while a test runs");
    return this.#store;
  }

  set(scope: string, key: string, json: string, options: SetOptions = {}): Promise<ItemWritten | Conflict> {
    return this.store.set(scope, key, newValue(json, options.expiresAt), this.#write(options));
  }

  delete(scope: string, key: string, options: Omit<SetOptions, "expiresAt"> = {}): Promise<ItemWritten | Conflict> {
    return this.store.delete(scope, key, this.#write(options));
  }

  update(
    scope: string,
    key: string,
    ops: readonly UpdateOp[],
    options: Omit<SetOptions, "expiresAt"> & Partial<Omit<ItemUpdate, "ops">> = {},
  ): Promise<ItemUpdated | Conflict> {
    const { atomic = true, maxBytes = 1_000_000 } = options;
    const expiresAt = "expiresAt" in options ? options.expiresAt : "keep";
    return this.store.update(scope, key, { ops, atomic, maxBytes, expiresAt }, this.#write(options));
  }

  /** Sets and returns the item. */
  async put(scope: string, key: string, json: string, options: SetOptions = {}): Promise<Item> {
    const { item } = written(await this.set(scope, key, json, options));
    if (item === undefined) throw new Error("a set left no item");
    return item;
  }

  async json(scope: string, key: string): Promise<string | undefined> {
    return (await this.store.get(scope, key))?.json;
  }

  #write({ ifVersion, notice, now }: Omit<SetOptions, "expiresAt">): ItemWrite {
    return { now: now ?? this.clock.time, ifVersion, notice };
  }
}
