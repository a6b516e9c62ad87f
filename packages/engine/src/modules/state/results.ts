import { Payload } from "@svc-runtime/protocol";
import { durabilityMember } from "../../items/entry-json.ts";
import type { Durability, ItemUpdated, ItemWritten } from "../../items/item-store.ts";

/** Returns a value's JSON as a payload, without parsing it; null if there is none. */
export function valueOrNull(json: string | undefined): Payload {
  return json === undefined ? Payload.null : Payload.fromText(json);
}

/** Returns `{old_value, new_value, version, errors?, durability?}`. The version is 0 if the item does not exist. */
export function writeResult(written: ItemWritten | ItemUpdated, durability: Durability): Payload {
  const { item, previous } = written;
  const errors = "errors" in written && written.errors.length > 0 ? `,"errors":${JSON.stringify(written.errors)}` : "";
  return Payload.fromText(
    `{"old_value":${previous ?? "null"},"new_value":${item?.json ?? "null"},"version":${item?.version ?? 0}${errors}${durabilityMember(durability)}}`,
  );
}
