import type { MessageOf } from "@svc/protocol";
import type { ReservedIds } from "../../access/reserved-ids.ts";
import type { Clock } from "../clock.ts";
import type { Registry } from "../registry.ts";
import type { Session } from "../session.ts";
import { releaseLater } from "./release-later.ts";

/** Removes this connection's registration only. In-flight calls continue. */
export function unregisterFunction(
  message: MessageOf<"unregisterfunction">,
  session: Session,
  {
    registry,
    reservedIds,
    clock,
  }: { readonly registry: Registry; readonly reservedIds: ReservedIds; readonly clock: Clock },
): void {
  const id = session.access?.fullFunctionId(message.id) ?? message.id;
  const hadIt = session.functions.has(id);
  session.withdrawFunction(id);
  if (!hadIt) return;
  releaseLater(session, clock, () => {
    if (session.functions.size > 0 && registry.find(id) === undefined) reservedIds.release("function", id);
  });
}
