// This module also runs in the store thread, so it must not import the rest of the engine.
import { applyOps } from "./apply-ops.ts";
import { type Conflict, type Item, type ItemUpdate, type ItemValue, MAX_MANY_BYTES } from "./item-store.ts";
import type { ItemChange } from "./outbox.ts";
import type { UpdateOpError } from "./update-op.ts";

export type WriteIntent =
  | { readonly type: "set"; readonly value: ItemValue }
  | { readonly type: "update"; readonly update: ItemUpdate }
  | { readonly type: "delete" };

export interface WriteConditions {
  /** Time with which expiry times are compared, in milliseconds. */
  readonly now: number;
  /** Time of the change, in milliseconds since 1970. Default: `now`. */
  readonly at?: number;
  readonly ifVersion: number | undefined;
  readonly leastVersion?: number | undefined;
}

/** Scope and key of an item. */
export interface ItemAddress {
  readonly scope: string;
  readonly key: string;
}

/** Effect of a write on an item, and its result. */
export interface WritePlan {
  readonly status: "written" | "unchanged";
  /** Whether the stored item is kept, replaced by `item`, or removed. */
  readonly row: "keep" | "put" | "remove";
  readonly item: Item | undefined;
  readonly previous: string | undefined;
  readonly changes: readonly ItemChange[];
  readonly errors: readonly UpdateOpError[];
}

/** Result of a plan if the updated value would exceed its size limit. */
export interface TooLarge {
  readonly status: "too_large";
  readonly bytes: number;
}

const NOTHING: readonly never[] = [];

export function isExpired(item: Item, now: number): boolean {
  return item.expiresAt !== undefined && item.expiresAt <= now;
}

/**
 * Plans a write to an item. `old` is the stored item, which may be expired. `floor` returns the version floor of the
 * scope; it is called only if no item is stored.
 */
export function planWrite(
  old: Item | undefined,
  address: ItemAddress,
  intent: WriteIntent,
  { now, at = now, ifVersion, leastVersion = 0 }: WriteConditions,
  floor: () => number,
): WritePlan | Conflict | TooLarge {
  const alive = old === undefined || isExpired(old, now) ? undefined : old;
  const actual = alive?.version ?? 0;
  if (ifVersion !== undefined && ifVersion !== actual && !(intent.type === "delete" && ifVersion === old?.version))
    return { status: "conflict", actual };
  if (intent.type === "delete") return planDelete(old, alive, address, at);
  let next: ItemValue;
  let errors: readonly UpdateOpError[] = NOTHING;
  if (intent.type === "set") {
    next = intent.value;
  } else {
    const updated = updatedValue(alive, intent.update);
    if (updated.status === "too_large") return updated;
    errors = updated.errors;
    if (updated.value === undefined)
      return { status: "unchanged", row: "keep", item: alive, previous: alive?.json, changes: NOTHING, errors };
    next = updated.value;
  }
  if (alive !== undefined && alive.json === next.json) {
    const sameEnd = alive.expiresAt === next.expiresAt;
    const item = sameEnd ? alive : { ...alive, expiresAt: next.expiresAt };
    return { status: "unchanged", row: sameEnd ? "keep" : "put", item, previous: alive.json, changes: NOTHING, errors };
  }
  const expiry = old !== undefined && alive === undefined ? deletionOf(old, address, at) : undefined;
  const version = Math.max((expiry?.version ?? alive?.version ?? floor()) + 1, leastVersion);
  const item: Item = {
    key: address.key,
    json: next.json,
    version,
    updatedAt: at,
    bytes: next.bytes,
    expiresAt: next.expiresAt,
  };
  const change: ItemChange = {
    kind: alive === undefined ? "created" : "updated",
    scope: address.scope,
    key: address.key,
    version,
    previous: alive?.json,
    json: next.json,
    at,
  };
  return {
    status: "written",
    row: "put",
    item,
    previous: alive?.json,
    changes: expiry === undefined ? [change] : [expiry, change],
    errors,
  };
}

function planDelete(old: Item | undefined, alive: Item | undefined, address: ItemAddress, at: number): WritePlan {
  if (old === undefined)
    return {
      status: "unchanged",
      row: "keep",
      item: undefined,
      previous: undefined,
      changes: NOTHING,
      errors: NOTHING,
    };
  return {
    status: "written",
    row: "remove",
    item: undefined,
    previous: alive?.json,
    changes: [deletionOf(old, address, at)],
    errors: NOTHING,
  };
}

function deletionOf(old: Item, { scope, key }: ItemAddress, at: number): ItemChange {
  return { kind: "deleted", scope, key, version: old.version + 1, previous: old.json, json: undefined, at };
}

type UpdatedValue =
  | { readonly status: "updated"; readonly value: ItemValue | undefined; readonly errors: readonly UpdateOpError[] }
  | TooLarge;

/** `value` is undefined if nothing has to be written. */
function updatedValue(alive: Item | undefined, update: ItemUpdate): UpdatedValue {
  const { json, errors } = applyOps(alive?.json, update.ops, { atomic: update.atomic });
  if (json === undefined || (errors.length > 0 && (update.atomic || json === alive?.json)))
    return { status: "updated", value: undefined, errors };
  const bytes = Buffer.byteLength(json);
  if (bytes > update.maxBytes && json !== alive?.json) return { status: "too_large", bytes };
  return {
    status: "updated",
    value: { json, bytes, expiresAt: update.expiresAt === "keep" ? alive?.expiresAt : update.expiresAt },
    errors,
  };
}

/** Returns the message of an update that is rejected with `payload_too_large`. */
export function tooLargeText(bytes: number, maxBytes: number): string {
  return `the updated value would be ${bytes} bytes of JSON; at most ${maxBytes} are allowed, and nothing was written`;
}

/** Returns the message of a `getMany` or `writeMany` that is rejected with `payload_too_large`. */
export function manyTooLargeText(bytes: number): string {
  return `the items have ${bytes} bytes of JSON in total; the maximum per call is ${MAX_MANY_BYTES}, request fewer items`;
}
