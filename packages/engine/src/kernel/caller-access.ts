import { CallError } from "@svc-runtime/protocol";
import { isSamePrincipal, type Principal } from "../access/principal.ts";
import type { SessionAccess } from "../access/session-access.ts";
import { refusalToBind, refusalToDefer, refusalToList, refusalToSee } from "../access/target-refusal.ts";
import type { CallerAccess } from "./access-contract.ts";
import type { Registry } from "./registry.ts";
import type { Sessions } from "./sessions.ts";
import { visibleDirectory } from "./visible-directory.ts";

export interface CallerAccessPorts {
  readonly sessions: Sessions;
  readonly registry: Registry;
}

/** Returns what the worker may see and do; undefined if it is not restricted. */
export function callerAccess(workerId: string, ports: CallerAccessPorts): CallerAccess | undefined {
  const access = ports.sessions.byId(workerId)?.access;
  return access === undefined ? undefined : accessOfSession(workerId, access, ports);
}

function accessOfSession(
  workerId: string,
  access: SessionAccess,
  { sessions, registry }: CallerAccessPorts,
): CallerAccess {
  const forbidden = (reason: string | undefined): CallError | undefined =>
    reason === undefined ? undefined : new CallError("FORBIDDEN", reason);
  return {
    visible: (directory) =>
      visibleDirectory(directory, { workerId, mayCall: (id) => refusalToList(id, access, registry) === undefined }),
    callRefusal: (functionId) => forbidden(refusalToSee(functionId, access, registry)),
    isOwnConnection: (id) => id === workerId || isOfPrincipal(access.grants.principal, sessions.byId(id)),
    // A deferred call does not go through the middleware, so a function that requires the middleware is refused too.
    deferRefusal: (functionId) =>
      forbidden(refusalToDefer(functionId, access, registry) ?? refusalToSee(functionId, access, registry)),
    bindRefusal({ type, functionId, config }) {
      const { triggerTypes } = access.grants;
      if (triggerTypes !== undefined && !triggerTypes.has(type))
        return forbidden(`this connection may not use the trigger type ${type}`);
      // The hook may rewrite a registration, so the trigger must be registered over the connection, where the hook
      // runs.
      const hook = access.policy.onTriggerRegistration;
      if (hook !== undefined)
        return forbidden(
          `${hook} decides over the triggers of this connection: register them over it, with registertrigger`,
        );
      return forbidden(refusalToBind({ functionId, config }, access, registry));
    },
  };
}

function isOfPrincipal(principal: Principal, session: { readonly principal: Principal } | undefined): boolean {
  return session !== undefined && isSamePrincipal(session.principal, principal);
}
