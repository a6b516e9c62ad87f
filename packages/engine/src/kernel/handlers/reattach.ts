import { isUuid, type MessageOf } from "@svc-runtime/protocol";
import { isSameSecret } from "../channels/channel.ts";
import type { Session } from "../session.ts";
import type { Sessions } from "../sessions.ts";

/**
 * Closes the former connection of a worker that has reconnected, so that the former registrations do not conflict with
 * those that the worker sends again. This happens before the next frame is read. There is no response.
 */
export function reattach(
  message: MessageOf<"reattach">,
  session: Session,
  { sessions }: { readonly sessions: Sessions },
): void {
  const { previous_worker_id: previousId, reattach_token: token } = message;
  if (!isUuid(previousId) || previousId === session.workerId) return;
  const previous = sessions.byId(previousId);
  if (previous === undefined) return;
  if (token === undefined || !isSameSecret(token, previous.reattachToken)) {
    session.warn("a reattach with a wrong token was ignored", { previousWorkerId: previousId });
    return;
  }
  previous.drop("the worker reconnected");
}
