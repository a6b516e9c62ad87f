import type { FunctionId } from "@svc/protocol";
import type { Registry } from "../registry.ts";
import { callRefusal } from "./decide-call.ts";
import { functionReferences } from "./function-references.ts";
import type { SessionAccess } from "./session-access.ts";

/** Why a connection may not call the function; undefined when it may. */
export function refusalToCall(id: string, access: SessionAccess, registry: Registry): string | undefined {
  const metadata = (): unknown => registry.find(id as FunctionId)?.registrations[0]?.description.metadata;
  return callRefusal(id, metadata, access.grants, access.policy);
}

/** Why a trigger of the connection may not call the function: it must be the connection's principal's, or one that it may call. */
function refusalAsTarget(id: string, access: SessionAccess, registry: Registry): string | undefined {
  const { principal, prefix } = access.grants;
  if (prefix !== undefined && id.startsWith(`${prefix}::`)) return undefined;
  const entry = registry.find(id as FunctionId);
  if (entry?.registrations.every(({ provider }) => !provider.builtIn && provider.principal === principal)) return undefined;
  return refusalToCall(id, access, registry);
}

/** The same for a trigger and all functions that its config names. */
export function refusalToBind(
  trigger: { readonly functionId: string | undefined; readonly config: unknown },
  access: SessionAccess,
  registry: Registry,
): string | undefined {
  const ids = [...(trigger.functionId === undefined ? [] : [trigger.functionId]), ...functionReferences(trigger.config)];
  for (const id of ids) {
    const refusal = refusalAsTarget(id, access, registry);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
