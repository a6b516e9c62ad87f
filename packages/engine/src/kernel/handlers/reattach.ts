import { isUuid, type MessageOf } from "@svc-runtime/protocol";
import { isSameSecret } from "../channels/channel.ts";
import type { Session } from "../session.ts";
import type { Sessions } from "../sessions.ts";

/**
 * A reconnected worker retires its former connection, so that no old registrations conflict with the ones it sends
 * again. The former connection is removed before the next frame is read. There is no response.
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
