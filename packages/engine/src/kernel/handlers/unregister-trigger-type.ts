import type { MessageOf } from "@svc/protocol";
import type { Session } from "../session.ts";

/** The type goes; bindings of it wait until somebody provides it again. */
export function unregisterTriggerType(message: MessageOf<"unregistertriggertype">, session: Session): void {
  session.withdrawTriggerType(session.access?.fullTriggerTypeId(message.id) ?? message.id);
}
