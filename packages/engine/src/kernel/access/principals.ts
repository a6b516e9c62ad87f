import { CallError, type FunctionId, type TriggerTypeId } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";

/**
 * Several workers may provide one function only when they have the same principal: a restricted connection cannot join another's function, and
 * what it took before an unrestricted worker came is taken away from it. Returns why the session may not register the id.
 */
export function settlePrincipal(id: FunctionId, session: Session, kernel: Kernel): string | undefined {
  const strangers = kernel.registry.find(id)?.registrations.filter(({ provider }) => provider.principal !== session.principal) ?? [];
  if (strangers.length === 0) return undefined;
  if (session.principal !== undefined) return `${id} belongs to another principal`;
  for (const { provider } of strangers) {
    const displaced = kernel.sessions.byId(provider.workerId);
    displaced?.withdrawFunction(id);
    displaced?.sendError(takenOver("registerfunction", id));
  }
  return undefined;
}

/** The same for a trigger type: who stands by for another would hear of all its bindings as soon as that one is away. */
export function settleTypePrincipal(id: TriggerTypeId, session: Session, kernel: Kernel): string | undefined {
  const strangers = kernel.triggers.providersOf(id).filter((provider) => provider.principal !== session.principal);
  if (strangers.length === 0) return undefined;
  if (session.principal !== undefined) return `the trigger type ${id} belongs to another principal`;
  for (const { workerId } of strangers) {
    const displaced = kernel.sessions.byId(workerId);
    displaced?.withdrawTriggerType(id);
    displaced?.sendError(takenOver("registertriggertype", id));
  }
  return undefined;
}

function takenOver(messageType: string, id: string): CallError {
  return new CallError("registration_refused", `${id} was taken over by a worker that is not restricted`, { details: { message_type: messageType, id } });
}
