import type { MessageOf } from "@svc/protocol";
import type { Router } from "../router.ts";
import type { Session } from "../session.ts";

/** The caller cancels a call. */
export function cancelInvocation(
  message: MessageOf<"cancelinvocation">,
  session: Session,
  { router }: { readonly router: Router },
): void {
  const call = session.made.get(message.invocation_id);
  if (call !== undefined) router.cancel(call, message.reason ?? "the caller withdrew it");
}
