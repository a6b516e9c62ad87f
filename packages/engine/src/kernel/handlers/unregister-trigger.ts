import type { MessageOf } from "@svc/protocol";
import type { Session } from "../session.ts";

/** Takes back this connection's request; an id it does not know has no effect. */
export function unregisterTrigger(message: MessageOf<"unregistertrigger">, session: Session): void {
  session.removeTrigger(message.id);
}
