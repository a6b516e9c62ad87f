import { CallError, type FunctionId } from "@svc/protocol";
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
    displaced?.sendError(
      new CallError("registration_refused", `${id} was taken over by a worker that is not restricted`, { details: { message_type: "registerfunction", id } }),
    );
  }
  return undefined;
}
