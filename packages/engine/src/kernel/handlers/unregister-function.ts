import type { MessageOf } from "@svc/protocol";
import type { Session } from "../session.ts";

/** Takes away this connection's registration and no other. Calls in hand go on. */
export function unregisterFunction(message: MessageOf<"unregisterfunction">, session: Session): void {
  session.withdrawFunction(session.access?.fullFunctionId(message.id) ?? message.id);
}
