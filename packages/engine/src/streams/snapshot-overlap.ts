import type { StreamSnapshot } from "../kernel/stream-contract.ts";
import type { NumberedEvent } from "./event-message.ts";

/** Which events that were published while a snapshot was read are already contained in the snapshot. */
export interface SnapshotOverlap {
  /** The snapshot contains the first `count` events. */
  readonly count: number;
  /**
   * True if the snapshot contains some later events too. If they were sent, items would have older values for a moment.
   */
  readonly isMixed: boolean;
}

/** `events` are the events since the read began, in order. */
export function snapshotOverlap(events: readonly NumberedEvent[], { versionOf }: StreamSnapshot): SnapshotOverlap {
  if (versionOf === undefined) return { count: 0, isMixed: false };
  const kinds = events.map((event) => kindOf(event, versionOf));
  const firstNew = kinds.indexOf("new");
  const beforeNew = firstNew === -1 ? kinds : kinds.slice(0, firstNew);
  // An event without an item is sent after the snapshot, unless the snapshot contains a later event.
  const count = Math.max(beforeNew.lastIndexOf("held"), beforeNew.lastIndexOf("gone")) + 1;
  return { count, isMixed: firstNew !== -1 && kinds.includes("held", firstNew) };
}

/**
 * Returns how an event relates to the snapshot. `held`: the snapshot contains its change. `new`: it does not. `not
 * kept`: the event is not about an item. `gone`: the event updates or deletes an item that the snapshot does not have.
 * If all events before a `gone` event are contained, it is contained too, because the item existed when the read began.
 * For the creation of a missing item, this cannot be known.
 */
function kindOf(
  { id, type, version }: NumberedEvent,
  versionOf: (id: string) => number | undefined,
): "held" | "gone" | "new" | "not kept" {
  if (type === "event" || id === null) return "not kept";
  if (version === undefined) return "new";
  const held = versionOf(id);
  if (held === undefined) return type === "create" ? "new" : "gone";
  return version <= held ? "held" : "new";
}
