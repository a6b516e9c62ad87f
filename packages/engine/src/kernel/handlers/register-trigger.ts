import { CallError, type MessageOf, type TriggerId } from "@svc/protocol";
import { withoutSvc } from "../call-metadata.ts";
import type { Kernel } from "../kernel.ts";
import type { Undo } from "../scope.ts";
import type { Session } from "../session.ts";
import { bindingKey, type TriggerRequest } from "../trigger-binding.ts";
import { admitTrigger, type TargetWatch } from "./admit-registrations.ts";

/**
 * A worker registers a trigger. The same trigger id again replaces the previous binding (a reconnecting worker
 * registers its triggers again).
 */
export function registerTrigger(message: MessageOf<"registertrigger">, session: Session, kernel: Kernel): void {
  if (session.access === undefined) {
    addTrigger(message, session, kernel);
    return;
  }
  admitTrigger(message, session.access, session, kernel, {
    add: (admitted, targets) => addTrigger(admitted, session, kernel, targets),
    refuse: (error) => refuse(message, session, error),
  });
}

function refuse(
  { id, trigger_type, function_id }: MessageOf<"registertrigger">,
  session: Session,
  { code, message }: CallError,
): void {
  session.send({
    type: "triggerregistrationresult",
    id,
    trigger_type,
    function_id,
    error: { code, message, stacktrace: undefined, details: undefined },
    status: "error",
    reason: message,
  });
}

function addTrigger(
  message: MessageOf<"registertrigger">,
  session: Session,
  kernel: Kernel,
  targets?: TargetWatch,
): void {
  const { id, trigger_type: type, function_id: functionId } = message;
  const { maxTriggers } = kernel.limits;
  const replaced = session.triggers.get(id);
  if (replaced === undefined) {
    const isFull = session.triggers.size >= maxTriggers;
    const problem = isFull
      ? `this connection has ${maxTriggers} triggers, which is the limit`
      : kernel.quotas.triggers.problemOf(session.principal);
    if (problem !== undefined) {
      refuse(message, session, new CallError("registration_refused", problem));
      return;
    }
  }
  const request: TriggerRequest = {
    id,
    type,
    functionId,
    config: message.config ?? null,
    metadata: withoutSvc(message.metadata),
  };
  // Remove the old one first: a provider must never see two bindings with one id.
  if (replaced !== undefined && replaced.hold.key !== bindingKey(request)) replaced.hold.remove();
  const hold = kernel.triggers.register(session, request);
  replaced?.unwatch();
  const unwatch = kernel.watchedTargets.watch(targets?.ids ?? [], () => {
    if (targets?.mayStay() === false) session.removeTrigger(id);
  });
  const leave = replaced?.leave ?? leaveWithSession(id, session, kernel);
  session.triggers.set(id, { hold, leave, unwatch });
  kernel.changes.registered(session.workerId);
}

/** Removes the binding and its count when the connection ends. */
function leaveWithSession(id: TriggerId, session: Session, kernel: Kernel): Undo {
  kernel.quotas.triggers.add(session.principal);
  return session.scope.add(() => {
    const current = session.triggers.get(id);
    current?.unwatch();
    current?.hold.leave();
    kernel.quotas.triggers.release(session.principal);
  });
}
