import type { MessageOf } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";

/** The caller cancels a call. */
export function cancelInvocation(message: MessageOf<"cancelinvocation">, session: Session, kernel: Kernel): void {
  const call = session.made.get(message.invocation_id);
  if (call !== undefined) kernel.router.cancel(call, message.reason ?? "the caller withdrew it");
}
