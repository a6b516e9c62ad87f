import type { MessageOf, TriggerTypeId } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";

/** The provider of a trigger type reports the result of a binding. Results of other workers are ignored. */
export function triggerRegistrationResult(
  message: MessageOf<"triggerregistrationresult">,
  session: Session,
  kernel: Kernel,
): void {
  const named = message.trigger_type as TriggerTypeId;
  const type = session.access?.fullTriggerTypeId(named) ?? named;
  const provider = kernel.triggers.typeById(type)?.provider;
  if (provider?.workerId !== session.workerId) {
    session.warn("a trigger result from a worker that does not provide the type was ignored", {
      triggerType: message.trigger_type,
    });
    return;
  }
  const binding = kernel.triggers.bindingById(message.id);
  if (binding?.type !== type) return;
  kernel.triggers.answered(binding, message.error?.message);
}
