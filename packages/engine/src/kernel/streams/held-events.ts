import type { StreamSnapshot } from "../stream-contract.ts";
import type { NumberedEvent } from "./numbered-event.ts";

/** How a snapshot and the events that came while it was read fit together. */
export interface HeldEvents {
  /** So many of the first events are in the snapshot, or were before it. */
  readonly count: number;
  /** Of those behind, some are in it too: sent again they would take items back for a moment. */
  readonly isMixed: boolean;
}

/** `events`: those that came since the read began, in order. */
export function heldEvents(events: readonly NumberedEvent[], { versionOf }: StreamSnapshot): HeldEvents {
  if (versionOf === undefined) return { count: 0, isMixed: false };
  const kinds = events.map((event) => kindOf(event, versionOf));
  const firstNew = kinds.indexOf("new");
  const beforeNew = firstNew === -1 ? kinds : kinds.slice(0, firstNew);
  // What nobody keeps is behind the snapshot unless something follows that is in it.
  const count = Math.max(beforeNew.lastIndexOf("held"), beforeNew.lastIndexOf("gone")) + 1;
  return { count, isMixed: firstNew !== -1 && kinds.includes("held", firstNew) };
}

/**
 * `gone`: an update or a deletion of an item that the snapshot does not have. When nothing before it is new it is held, since the item was there when
 * the read began; of a creation nobody can tell.
 */
function kindOf({ id, type, version }: NumberedEvent, versionOf: (id: string) => number | undefined): "held" | "gone" | "new" | "not kept" {
  if (type === "event" || id === null) return "not kept";
  if (version === undefined) return "new";
  const held = versionOf(id);
  if (held === undefined) return type === "create" ? "new" : "gone";
  return version <= held ? "held" : "new";
}
