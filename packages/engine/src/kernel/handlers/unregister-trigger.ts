import type { MessageOf } from "@svc/protocol";
import type { Session } from "../session.ts";

/** Takes back this connection's request; an id it does not know has no effect. */
export function unregisterTrigger(message: MessageOf<"unregistertrigger">, session: Session): void {
  const standing = session.triggers.get(message.id);
  if (standing === undefined) return;
  standing.hold.remove();
  session.triggers.delete(message.id);
  standing.leave();
}
