import { CallError, type MessageOf, type TriggerId } from "@svc-runtime/protocol";
import type { Quota } from "../../access/quota.ts";
import type { Quotas } from "../../access/quotas.ts";
import type { WatchedTargets } from "../../access/watched-targets.ts";
import { withoutSvc } from "../call-metadata.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { Undo } from "../scope.ts";
import type { Session } from "../session.ts";
import { bindingKey, type TriggerRequest } from "../triggers/trigger-binding.ts";
import type { TriggerRegistry } from "../triggers/trigger-registry.ts";
import { type AdmitTriggerPorts, admitTrigger, type TargetWatch } from "./admit-registrations.ts";

export interface TriggerPorts extends AdmitTriggerPorts {
  readonly triggers: TriggerRegistry;
  readonly watchedTargets: WatchedTargets;
  readonly quotas: Quotas;
  readonly changes: DirectoryChanges;
}

/**
 * Registers a trigger of a worker. If the worker registers a trigger id again, the new binding replaces the previous
 * one.
 */
export function registerTrigger(message: MessageOf<"registertrigger">, session: Session, ports: TriggerPorts): void {
  if (session.access === undefined) {
    addTrigger(message, session, ports);
    return;
  }
  admitTrigger(message, session.access, session, ports, {
    add: (admitted, targets) => addTrigger(admitted, session, ports, targets),
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
  ports: TriggerPorts,
  targets?: TargetWatch,
): void {
  const { id, trigger_type: type, function_id: functionId } = message;
  const replaced = session.triggers.get(id);
  if (replaced === undefined) {
    const problem = ports.quotas.triggers.problemFor(session.triggers.size, session.principal);
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
  // Remove the old binding before the new one is added, because a provider must never see two bindings with one id.
  if (replaced !== undefined && replaced.hold.key !== bindingKey(request)) replaced.hold.remove();
  const hold = ports.triggers.register(session, request);
  replaced?.unwatch();
  const unwatch = ports.watchedTargets.watch(targets?.ids ?? [], () => {
    if (targets?.mayStay() === false) session.removeTrigger(id);
  });
  const leave = replaced?.leave ?? leaveWithSession(id, session, ports.quotas.triggers);
  session.triggers.set(id, { hold, leave, unwatch });
  ports.changes.registered(session.workerId);
}

/** Removes the binding and its count when the connection ends. */
function leaveWithSession(id: TriggerId, session: Session, quota: Quota): Undo {
  quota.add(session.principal);
  return session.scope.add(() => {
    const current = session.triggers.get(id);
    current?.unwatch();
    current?.hold.leave();
    quota.release(session.principal);
  });
}
