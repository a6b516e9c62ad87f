import type { Item, ItemUpdated, ItemValue, ItemWrite, ItemWritten, NumberedChange } from "../item-store.ts";
import type { ItemChange } from "../outbox.ts";
import type { ItemAddress } from "../plan-write.ts";
import type { ToldOutput } from "./file-thread/deliveries.ts";
import type { WriteOutput } from "./file-thread/writes.ts";

const NOBODY: readonly string[] = [];
const NOTHING: readonly never[] = [];

/** Puts together what the store thread said of a set and what was asked of it. */
export function setAnswer(address: ItemAddress, value: ItemValue, write: ItemWrite, output: WriteOutput): ItemWritten {
  const { json, bytes, expiresAt } = value;
  const { status, version = 0, updatedAt = write.now } = output;
  const previous = status === "unchanged" ? json : output.previous;
  const item: Item = { key: address.key, json, version, updatedAt, bytes, expiresAt };
  return { status, item, previous, changes: changesOf(address, write, output, json) };
}

export function updateAnswer(address: ItemAddress, write: ItemWrite, output: WriteOutput): ItemUpdated {
  const { status, previous, updated, version = 0, updatedAt = write.now, errors = NOTHING } = output;
  const item = updated === undefined ? undefined : { key: address.key, version, updatedAt, ...updated };
  return { status, item, previous, changes: changesOf(address, write, output, updated?.json), errors };
}

export function deleteAnswer(address: ItemAddress, write: ItemWrite, output: WriteOutput): ItemWritten {
  return { status: output.status, item: undefined, previous: output.previous, changes: changesOf(address, write, output, undefined) };
}

/** `json`: what the item became; undefined when it was deleted. */
function changesOf(address: ItemAddress, { now }: ItemWrite, output: WriteOutput, json: string | undefined): readonly NumberedChange[] {
  if (output.status === "unchanged") return NOTHING;
  const { lapsed, previous, version = 0, told } = output;
  const lapse = lapsed && change(address, { kind: "deleted", version: lapsed.version, previous: lapsed.json, json: undefined, at: now }, told?.[0]);
  if (lapse !== undefined && json === undefined) return [lapse];
  const kind = json === undefined ? "deleted" : previous === undefined ? "created" : "updated";
  const main = change(address, { kind, version, previous, json, at: now }, told?.[lapse === undefined ? 0 : 1]);
  return lapse === undefined ? [main] : [lapse, main];
}

function change({ scope, key }: ItemAddress, happened: Omit<ItemChange, "scope" | "key">, told: ToldOutput | undefined): NumberedChange {
  const { kind, version, previous, json, at } = happened;
  return { kind, scope, key, version, previous, json, at, seq: told?.seq, watchers: told?.watchers ?? NOBODY };
}
