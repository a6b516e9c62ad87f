import type { MessageOf } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import { releaseLater } from "./release-later.ts";

/** Removes this connection's registration only. In-flight calls continue. */
export function unregisterFunction(message: MessageOf<"unregisterfunction">, session: Session, kernel: Kernel): void {
  const id = session.access?.fullFunctionId(message.id) ?? message.id;
  const hadIt = session.functions.has(id);
  session.withdrawFunction(id);
  if (!hadIt) return;
  releaseLater(session, kernel, () => {
    if (session.functions.size > 0 && kernel.registry.find(id) === undefined)
      kernel.reservedIds.release("function", id);
  });
}
