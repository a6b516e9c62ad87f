import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import { IntervalClock } from "../../kernel/interval-clock.ts";
import type { Undo } from "../../kernel/scope.ts";
import { itemName } from "../item-cache.ts";
import { ItemListeners } from "../item-listeners.ts";
import type * as Items from "../item-store.ts";
import { type ItemStore, MAX_MANY_BYTES } from "../item-store.ts";
import { type OutboxEntry, outboxEntries } from "../outbox.ts";
import {
  type ItemAddress,
  isExpired,
  manyTooLargeText,
  planWrite,
  tooLargeText,
  type WriteIntent,
  type WritePlan,
} from "../plan-write.ts";
import { type ItemInScope, writeSnapshotLines } from "../snapshot-lines.ts";
import { MemoryOutbox } from "./memory-outbox.ts";
import { itemSize, MemoryScopes } from "./memory-scopes.ts";

export interface MemoryItemsOptions {
  /** Maximum size of items and pending deliveries, in bytes. Writes above it fail with `storage_failed`. */
  readonly maxBytes: number;
  /** Clock for expiry. */
  readonly clock: Clock;
}

/** Creates an item store in this process's memory. Its items are lost when the module stops. */
export function memoryItems(options: MemoryItemsOptions): ItemStore {
  return new MemoryItems(options);
}

/** A write with its plan. */
interface Planned extends ItemAddress {
  readonly plan: WritePlan;
  readonly entries: readonly OutboxEntry[];
  /** Change of the total size of all items, in bytes. */
  readonly growth: number;
}

// Every method does its work synchronously, so that results keep the order of the calls.
class MemoryItems implements ItemStore {
  readonly durability = "memory";
  readonly outbox: MemoryOutbox;
  readonly #maxBytes: number;
  /** Shifts the expiry times if the wall clock was set. A method that uses expiry times must call `now` first. */
  readonly #clock: IntervalClock;
  readonly #scopes = new MemoryScopes();
  readonly #listeners = new ItemListeners();
  #closed = false;

  constructor({ maxBytes, clock }: MemoryItemsOptions) {
    this.#maxBytes = maxBytes;
    this.#clock = new IntervalClock(clock, (byMs) => this.#scopes.shiftExpiries(byMs));
    this.outbox = new MemoryOutbox(() => this.#refuseClosed());
  }

  async get(scope: string, key: string): Promise<Items.Item | undefined> {
    this.#refuseClosed();
    return this.#alive(scope, key, this.#clock.now());
  }

  async getMany(scope: string, keys: readonly string[]): Promise<readonly (Items.Item | undefined)[]> {
    this.#refuseClosed();
    const now = this.#clock.now();
    const items = keys.map((key) => this.#alive(scope, key, now));
    refuseTooMany(items.reduce((sum, item) => sum + (item?.bytes ?? 0), 0));
    return items;
  }

  async set(
    scope: string,
    key: string,
    value: Items.ItemValue,
    write: Items.ItemWrite,
  ): Promise<Items.ItemWritten | Items.Conflict> {
    return this.#write({ scope, key }, { type: "set", value }, write);
  }

  async update(
    scope: string,
    key: string,
    update: Items.ItemUpdate,
    write: Items.ItemWrite,
  ): Promise<Items.ItemUpdated | Items.Conflict> {
    return this.#write({ scope, key }, { type: "update", update }, write);
  }

  async delete(scope: string, key: string, write: Items.ItemWrite): Promise<Items.ItemWritten | Items.Conflict> {
    return this.#write({ scope, key }, { type: "delete" }, write);
  }

  async writeMany(writes: readonly Items.BatchedWrite[]): Promise<Items.BatchResult> {
    this.#refuseClosed();
    this.#clock.now();
    // Each item as it is after the preceding writes of this call.
    const after = new Map<string, Items.Item | undefined>();
    const floors = new Map<string, number>();
    const all: Planned[] = [];
    let replaced = 0;
    for (const [index, one] of writes.entries()) {
      const { scope, key } = one;
      const name = itemName(scope, key);
      const old = after.has(name) ? after.get(name) : this.#scopes.item(scope, key);
      const floor = () => Math.max(this.#scopes.floor(scope), floors.get(scope) ?? 0);
      const planned = plan(
        old,
        one,
        one.type === "set" ? { type: "set", value: one.value } : { type: "delete" },
        one.write,
        floor,
      );
      if ("status" in planned) return { status: "conflict", index, actual: planned.actual };
      if (planned.plan.row === "put") after.set(name, planned.plan.item);
      if (planned.plan.row === "remove") {
        after.set(name, undefined);
        floors.set(scope, Math.max(floors.get(scope) ?? 0, (old?.version ?? 0) + 1));
      }
      replaced += old?.bytes ?? 0;
      all.push(planned);
    }
    refuseTooMany(replaced);
    const written = this.#commit(all);
    for (const [index, { write }] of writes.entries()) this.#report(written[index], write);
    return { status: "written", writes: written };
  }

  onApplied(listener: (applied: Items.AppliedItem) => void): Undo {
    return this.#listeners.add(listener);
  }

  async list(scope: string, options: { readonly maxBytes: number }): Promise<Items.Listing> {
    this.#refuseClosed();
    const now = this.#clock.now();
    const items = [...this.#scopes.keys(scope, "", undefined)]
      .map((key) => this.#alive(scope, key, now))
      .filter((item) => item !== undefined);
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    if (bytes > options.maxBytes) return { status: "too_large", items: items.length, bytes };
    return { status: "complete", values: items.map((item) => item.json) };
  }

  async page(scope: string, { prefix, after, limit, maxBytes }: Items.PageRequest): Promise<Items.ItemPage> {
    this.#refuseClosed();
    const now = this.#clock.now();
    const total = this.#scopes.countKeys(scope, prefix);
    const items: Items.Item[] = [];
    let bytes = 0;
    for (const key of this.#scopes.keys(scope, prefix, after)) {
      const item = this.#alive(scope, key, now);
      if (item === undefined) continue;
      bytes += item.bytes;
      if (items.length >= limit || (items.length > 0 && bytes > maxBytes)) return { items, more: true, total };
      items.push(item);
    }
    return { items, more: false, total };
  }

  async scopes({ prefix }: { readonly prefix: string }): Promise<readonly string[]> {
    this.#refuseClosed();
    return [...this.#scopes.names(prefix, undefined)];
  }

  async groups({ prefix, after, limit }: Omit<Items.PageRequest, "maxBytes">): Promise<Items.GroupPage> {
    this.#refuseClosed();
    const groups = [];
    const total = this.#scopes.countNames(prefix);
    for (const scope of this.#scopes.names(prefix, after)) {
      if (groups.length >= limit) return { groups, more: true, total };
      groups.push(this.#scopes.size(scope));
    }
    return { groups, more: false, total };
  }

  async expired(now: number, limit: number): Promise<readonly Items.ExpiredItem[]> {
    this.#refuseClosed();
    this.#clock.now();
    return this.#scopes.expiries
      .until(now, limit)
      .map(({ scope, key }) => ({ scope, key, version: this.#scopes.item(scope, key)?.version ?? 0 }));
  }

  async nextExpiry(): Promise<number | undefined> {
    this.#refuseClosed();
    this.#clock.now();
    return this.#scopes.expiries.first()?.dueAt;
  }

  async snapshot(file: string): Promise<{ readonly bytes: number }> {
    this.#refuseClosed();
    const now = this.#clock.now();
    const found: ItemInScope[] = [];
    for (const scope of this.#scopes.names("", undefined)) {
      for (const key of this.#scopes.keys(scope, "", undefined)) {
        const item = this.#alive(scope, key, now);
        if (item !== undefined) found.push({ scope, item });
      }
    }
    return writeSnapshotLines(file, [found]);
  }

  problem(): undefined {
    return undefined;
  }

  damage(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#scopes.clear();
    this.outbox.clear();
  }

  #alive(scope: string, key: string, now: number): Items.Item | undefined {
    const item = this.#scopes.item(scope, key);
    return item === undefined || isExpired(item, now) ? undefined : item;
  }

  #write(address: ItemAddress, intent: WriteIntent, write: Items.ItemWrite): Items.ItemUpdated | Items.Conflict {
    this.#refuseClosed();
    this.#clock.now();
    const { scope, key } = address;
    const planned = plan(this.#scopes.item(scope, key), address, intent, write, () => this.#scopes.floor(scope));
    if ("status" in planned) return planned;
    const [written] = this.#commit([planned]);
    if (written === undefined) throw new Error("a write was planned and not done");
    this.#report(written, write);
    return written;
  }

  /** Applies all writes. Throws, without applying any of them, if they exceed the limit. */
  #commit(all: readonly Planned[]): Items.ItemUpdated[] {
    const deliveries = this.outbox.sizeOf(all.flatMap(({ entries }) => entries));
    this.#refuseOverLimit(all.reduce((sum, { growth }) => sum + growth, deliveries));
    return all.map(({ scope, key, plan: { row, status, item, previous, errors }, entries }) => {
      if (row === "put" && item !== undefined) this.#scopes.put(scope, item);
      else if (row === "remove") this.#scopes.remove(scope, key);
      const changes = entries.map((one) => numbered(one, this.outbox.put(one)));
      return { status, item, previous, changes, errors };
    });
  }

  #report(written: Items.ItemWritten | undefined, write: Items.ItemWrite): void {
    if (written !== undefined) this.#listeners.reportOwn(written, write);
  }

  #refuseOverLimit(growth: number): void {
    const bytes = this.#scopes.bytes + this.outbox.bytes;
    if (growth <= 0 || bytes + growth <= this.#maxBytes) return;
    const reason = `the in-memory store has reached its limit: ${bytes} of ${this.#maxBytes} bytes; delete items, raise max_bytes, or use the file_based adapter`;
    throw new CallError("storage_failed", reason, {
      details: { reason, outcome: "not_written", bytes, max_bytes: this.#maxBytes },
    });
  }

  #refuseClosed(): void {
    if (this.#closed) throw new CallError("draining", "the item store is closing and accepts no more requests");
  }
}

function plan(
  old: Items.Item | undefined,
  address: ItemAddress,
  intent: WriteIntent,
  write: Items.ItemWrite,
  floor: () => number,
): Planned | Items.Conflict {
  const { scope, key } = address;
  const planned = planWrite(old, { scope, key }, intent, write, floor);
  if (planned.status === "conflict") return planned;
  if (planned.status === "too_large") {
    const limit = intent.type === "update" ? intent.update.maxBytes : 0;
    throw new CallError("payload_too_large", tooLargeText(planned.bytes, limit), {
      details: { bytes: planned.bytes, limit },
    });
  }
  const growth = planned.row === "keep" ? 0 : itemSize(scope, planned.item) - itemSize(scope, old);
  return { scope, key, plan: planned, entries: outboxEntries(planned.changes, write.notice), growth };
}

function refuseTooMany(bytes: number): void {
  if (bytes > MAX_MANY_BYTES)
    throw new CallError("payload_too_large", manyTooLargeText(bytes), { details: { bytes, limit: MAX_MANY_BYTES } });
}

/** Copies each member explicitly, because an object spread would be the slowest part of a write. */
function numbered(
  { change: { kind, scope, key, version, previous, json, at }, watchers }: OutboxEntry,
  seq: number | undefined,
): Items.NumberedChange {
  return { kind, scope, key, version, previous, json, at, seq, watchers };
}
