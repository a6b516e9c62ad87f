import type { AppliedWrite } from "../../kernel/store-contract.ts";
import type {
  AppliedItem,
  Item,
  ItemUpdated,
  ItemValue,
  ItemWrite,
  ItemWritten,
  NumberedChange,
} from "../item-store.ts";
import type { ItemChange } from "../outbox.ts";
import type { ItemAddress } from "../plan-write.ts";
import { type LoggedChange, UNKNOWN_ORIGIN } from "./file-thread/deliveries.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";
import type { SetInput, WriteInput, WriteOutput } from "./file-thread/writes.ts";

/** Time of a write. */
type At = Pick<ItemWrite, "now">;

const NOBODY: readonly string[] = [];
const NOTHING: readonly never[] = [];

/** Combines the input of a set with the store thread's output to the full result. */
export function setResult(address: ItemAddress, value: ItemValue, write: At, output: WriteOutput): ItemWritten {
  const { json, bytes, expiresAt } = value;
  const { status, version = 0, updatedAt = write.now } = output;
  const previous = status === "unchanged" ? json : output.previous;
  const item: Item = { key: address.key, json, version, updatedAt, bytes, expiresAt };
  return { status, item, previous, changes: changesOf(address, write, output, json) };
}

/** `skewMs`: how far the wall clock is ahead of the store's time. */
export function updateResult(address: ItemAddress, write: At, output: WriteOutput, skewMs: number): ItemUpdated {
  const { status, previous, updated, version = 0, updatedAt = write.now, errors = NOTHING } = output;
  const item =
    updated === undefined ? undefined : onWallClock({ key: address.key, version, updatedAt, ...updated }, skewMs);
  return { status, item, previous, changes: changesOf(address, write, output, updated?.json), errors };
}

export function deleteResult(address: ItemAddress, write: At, output: WriteOutput): ItemWritten {
  return {
    status: output.status,
    item: undefined,
    previous: output.previous,
    changes: changesOf(address, write, output, undefined),
  };
}

/**
 * Returns the writes of items in a committed request to the store, in order. The request may be of this run or another
 * run.
 */
export function appliedItems(
  { procedure, input, output, mark }: AppliedWrite<ItemProcedures>,
  skewMs: number,
): readonly AppliedItem[] {
  switch (procedure) {
    case "set":
      return output.status === "conflict" ? NOTHING : [applied(input, setOf(input, output, skewMs), mark)];
    case "update":
      return output.status === "conflict"
        ? NOTHING
        : [applied(input, updateResult(input, input, output, skewMs), mark)];
    case "delete":
      return output.status === "conflict" ? NOTHING : [applied(input, deleteResult(input, input, output), mark)];
    case "writeMany": {
      if (output.status === "conflict") return NOTHING;
      const { writes } = output;
      // The mark of a batch is a list with the marks of its writes, in their order.
      const marks = (mark ?? NOTHING) as readonly unknown[];
      return input.map((one, index) => {
        const done = writes[index] ?? { status: "unchanged" as const };
        return applied(one, one.type === "set" ? setOf(one, done, skewMs) : deleteResult(one, one, done), marks[index]);
      });
    }
    default:
      return NOTHING;
  }
}

function setOf(input: SetInput, output: WriteOutput, skewMs: number): ItemWritten {
  const { json, bytes, expiresAt } = input;
  const value = { json, bytes, expiresAt: expiresAt === undefined ? undefined : expiresAt + skewMs };
  return setResult(input, value, input, output);
}

/** Returns the item with its expiry time on the wall clock. */
export function onWallClock<Found extends Item | undefined>(item: Found, skewMs: number): Found {
  if (skewMs === 0 || item?.expiresAt === undefined) return item;
  return { ...item, expiresAt: item.expiresAt + skewMs };
}

function applied({ notice }: WriteInput, written: ItemWritten, mark: unknown): AppliedItem {
  const isLogged = written.changes.some(({ seq }) => seq !== undefined);
  return { written, origin: notice?.origin ?? (isLogged ? UNKNOWN_ORIGIN : undefined), mark };
}

/** `json` is the item's new value; undefined if the item was deleted. */
function changesOf(
  address: ItemAddress,
  { now }: At,
  output: WriteOutput,
  json: string | undefined,
): readonly NumberedChange[] {
  if (output.status === "unchanged") return NOTHING;
  const { expired, previous, version = 0, logged } = output;
  const expiry =
    expired &&
    change(
      address,
      { kind: "deleted", version: expired.version, previous: expired.json, json: undefined, at: now },
      logged?.[0],
    );
  if (expiry !== undefined && json === undefined) return [expiry];
  const kind = json === undefined ? "deleted" : previous === undefined ? "created" : "updated";
  const main = change(address, { kind, version, previous, json, at: now }, logged?.[expiry === undefined ? 0 : 1]);
  return expiry === undefined ? [main] : [expiry, main];
}

function change(
  { scope, key }: ItemAddress,
  facts: Omit<ItemChange, "scope" | "key">,
  logged: LoggedChange | undefined,
): NumberedChange {
  const { kind, version, previous, json, at } = facts;
  return { kind, scope, key, version, previous, json, at, seq: logged?.seq, watchers: logged?.watchers ?? NOBODY };
}
