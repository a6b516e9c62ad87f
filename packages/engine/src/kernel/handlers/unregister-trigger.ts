import type { MessageOf } from "@svc/protocol";
import type { Session } from "../session.ts";

/** Removes this connection's trigger. An unknown id has no effect. */
export function unregisterTrigger(message: MessageOf<"unregistertrigger">, session: Session): void {
  session.removeTrigger(message.id);
}
