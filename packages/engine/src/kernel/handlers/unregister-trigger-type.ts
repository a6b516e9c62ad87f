import type { MessageOf } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import { releaseLater } from "./release-later.ts";

/** Removes this connection's type. Its bindings wait until a worker provides the type again. */
export function unregisterTriggerType(
  message: MessageOf<"unregistertriggertype">,
  session: Session,
  kernel: Kernel,
): void {
  const id = session.access?.fullTriggerTypeId(message.id) ?? message.id;
  const hadIt = session.triggerTypes.has(id);
  session.withdrawTriggerType(id);
  if (!hadIt) return;
  releaseLater(session, kernel, () => {
    if (session.functions.size > 0 && kernel.triggers.typeById(id) === undefined)
      kernel.reservedIds.release("trigger type", id);
  });
}
