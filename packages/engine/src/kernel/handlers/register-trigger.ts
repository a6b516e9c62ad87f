import { CallError, type MessageOf } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";
import { bindingKey, type TriggerRequest } from "../trigger-binding.ts";

/** A worker asks for a binding. The same trigger id again replaces what it stood for (a reconnecting worker replays its triggers). */
export function registerTrigger(message: MessageOf<"registertrigger">, session: Session, kernel: Kernel): void {
  const { id, trigger_type: type, function_id: functionId } = message;
  const { maxTriggers } = kernel.limits;
  const replaced = session.triggers.get(id);
  if (replaced === undefined && session.triggers.size >= maxTriggers) {
    const error = new CallError("registration_refused", `this connection has ${maxTriggers} triggers, which is the limit`);
    session.send({
      type: "triggerregistrationresult",
      id,
      trigger_type: type,
      function_id: functionId,
      error: { code: error.code, message: error.message, stacktrace: undefined, details: undefined },
      status: "error",
      reason: error.message,
    });
    return;
  }
  const request: TriggerRequest = { id, type, functionId, config: message.config ?? null, metadata: message.metadata };
  // First the old, then the new: a provider must never see two bindings of one id.
  if (replaced !== undefined && replaced.hold.key !== bindingKey(request)) replaced.hold.remove();
  const hold = kernel.triggers.register(session, request);
  const leave = replaced?.leave ?? session.scope.add(() => session.triggers.get(id)?.hold.leave());
  session.triggers.set(id, { hold, leave });
}
