import type { MessageOf } from "@svc/protocol";
import type { ReservedIds } from "../../access/reserved-ids.ts";
import type { Clock } from "../clock.ts";
import type { Session } from "../session.ts";
import type { TriggerRegistry } from "../trigger-registry.ts";
import { releaseLater } from "./release-later.ts";

/** Removes this connection's type. Its bindings wait until a worker provides the type again. */
export function unregisterTriggerType(
  message: MessageOf<"unregistertriggertype">,
  session: Session,
  {
    triggers,
    reservedIds,
    clock,
  }: { readonly triggers: TriggerRegistry; readonly reservedIds: ReservedIds; readonly clock: Clock },
): void {
  const id = session.access?.fullTriggerTypeId(message.id) ?? message.id;
  const hadIt = session.triggerTypes.has(id);
  session.withdrawTriggerType(id);
  if (!hadIt) return;
  releaseLater(session, clock, () => {
    if (session.functions.size > 0 && triggers.typeById(id) === undefined) reservedIds.release("trigger type", id);
  });
}
