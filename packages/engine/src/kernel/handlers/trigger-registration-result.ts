import type { MessageOf, TriggerTypeId } from "@svc-runtime/protocol";
import type { Session } from "../session.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";

/** The provider of a trigger type reports the result of a binding. Results of other workers are ignored. */
export function triggerRegistrationResult(
  message: MessageOf<"triggerregistrationresult">,
  session: Session,
  { triggers }: { readonly triggers: TriggerRegistry },
): void {
  const named = message.trigger_type as TriggerTypeId;
  const type = session.access?.fullTriggerTypeId(named) ?? named;
  const provider = triggers.typeById(type)?.provider;
  if (provider?.workerId !== session.workerId) {
    session.warn("a trigger result from a worker that does not provide the type was ignored", {
      triggerType: message.trigger_type,
    });
    return;
  }
  const binding = triggers.bindingById(message.id);
  if (binding?.type !== type) return;
  triggers.answered(binding, message.error?.message);
}
