import { Payload } from "@svc/protocol";
import type { Durability, ItemUpdated, ItemWritten } from "../../items/item-store.ts";

/** Answers are put together from the JSON of values, which nobody reads on the way. */
export function valueOrNull(json: string | undefined): Payload {
  return json === undefined ? Payload.null : Payload.fromText(json);
}

/** `{old_value, new_value, version, errors?, durability?}`. The version of what is not there is 0. */
export function writtenAnswer(written: ItemWritten | ItemUpdated, durability: Durability): Payload {
  const { item, previous } = written;
  const errors = "errors" in written && written.errors.length > 0 ? `,"errors":${JSON.stringify(written.errors)}` : "";
  return Payload.fromText(
    `{"old_value":${previous ?? "null"},"new_value":${item?.json ?? "null"},"version":${item?.version ?? 0}${errors}${durabilityMember(durability)}}`,
  );
}

/** Ends the members of an answer; nothing where the write is on the disk. */
function durabilityMember(durability: Durability): string {
  return durability === "durable" ? "" : `,"durability":"${durability}"`;
}
