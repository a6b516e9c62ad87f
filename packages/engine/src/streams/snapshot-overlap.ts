import type { StreamSnapshot } from "../kernel/stream-contract.ts";
import type { NumberedEvent } from "./event-message.ts";

/** How a snapshot and the events that arrived while it was read overlap. */
export interface SnapshotOverlap {
  /** Number of the first events that the snapshot already contains. */
  readonly count: number;
  /** True if later events are contained as well. Sending them would revert items for a moment. */
  readonly isMixed: boolean;
}

/** `events` are those since the read began, in order. */
export function snapshotOverlap(events: readonly NumberedEvent[], { versionOf }: StreamSnapshot): SnapshotOverlap {
  if (versionOf === undefined) return { count: 0, isMixed: false };
  const kinds = events.map((event) => kindOf(event, versionOf));
  const firstNew = kinds.indexOf("new");
  const beforeNew = firstNew === -1 ? kinds : kinds.slice(0, firstNew);
  // Events without an item come after the snapshot, unless a later event is contained in it.
  const count = Math.max(beforeNew.lastIndexOf("held"), beforeNew.lastIndexOf("gone")) + 1;
  return { count, isMixed: firstNew !== -1 && kinds.includes("held", firstNew) };
}

/**
 * `gone`: an update or deletion of an item that the snapshot does not have. If no event before it is new, it is
 * contained, since the item existed when the read began. For a creation this cannot be known.
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
