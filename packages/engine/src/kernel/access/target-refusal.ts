import type { FunctionId } from "@svc/protocol";
import type { Registry } from "../registry.ts";
import { callRefusal, isInfrastructure } from "./decide-call.ts";
import { isEngineFunction } from "./engine-ids.ts";
import { functionReferences } from "./function-references.ts";
import { isSamePrincipal } from "./principal.ts";
import type { SessionAccess } from "./session-access.ts";

/** Puts a job on a queue. */
export const ENQUEUE = "engine::queue::enqueue";

/** Why a connection may not call the function; undefined when it may. What its own principal provides it may, unless it is forbidden. */
export function refusalToCall(id: string, access: SessionAccess, registry: Registry): string | undefined {
  if (isOwn(id, access, registry) && access.grants.forbidden.find(id) === undefined) return undefined;
  const metadata = (): unknown => registry.find(id as FunctionId)?.registrations[0]?.description.metadata;
  return callRefusal(id, metadata, access.grants, access.policy);
}

/**
 * Whether a call of the function goes through the connection's middleware. Without rules only the middleware stands between a connection and the
 * functions that administer the engine. With rules the connection may call functions of the engine only where a rule says so. A job is a call by way
 * of the queue, so it goes through the middleware in any case.
 */
export function goesThroughMiddleware(id: string, { policy }: SessionAccess): boolean {
  if (policy.middlewareFunctionId === undefined) return false;
  if (policy.exposeRules === undefined) return !isInfrastructure(id);
  return !id.startsWith("engine::") || id === ENQUEUE;
}

/**
 * Why the connection may not learn, without a call, what the function returns; undefined when it may. Triggers, traces and call history bypass the
 * middleware, so what goes through it cannot be learnt from them.
 */
export function refusalToSee(id: string, access: SessionAccess, registry: Registry): string | undefined {
  return (isOwn(id, access, registry) ? undefined : refusalToBypass(id, access)) ?? refusalToCall(id, access, registry);
}

/** Why the connection may not list the function; undefined when it may. Without rules, nothing says which functions the middleware would let it call. */
export function refusalToList(id: string, access: SessionAccess, registry: Registry): string | undefined {
  return access.policy.exposeRules === undefined ? refusalToSee(id, access, registry) : refusalToCall(id, access, registry);
}

function refusalToBypass(id: string, access: SessionAccess): string | undefined {
  if (!goesThroughMiddleware(id, access)) return undefined;
  return `function '${id}' is reachable only through the middleware ${access.policy.middlewareFunctionId}, which triggers, jobs and alerts bypass; call it directly`;
}

/**
 * Why a job, a trigger or an alert of the connection may not call the function: the engine makes such a call, so a function of the engine would run with
 * the engine's rights.
 */
function refusalOfEngineTarget(id: string, registry: Registry): string | undefined {
  const isOfEngine = isEngineFunction(id) || registry.find(id as FunctionId)?.registrations.some(({ provider }) => provider.builtIn) === true;
  return isOfEngine
    ? `function '${id}' not allowed for jobs and triggers (it belongs to the engine, which would run it with its own rights: call it directly, or use a function of your own)`
    : undefined;
}

/** Why the engine may not call the function on behalf of the connection, e.g. as a job; undefined when it may. */
export function refusalToDefer(id: string, access: SessionAccess, registry: Registry): string | undefined {
  return refusalOfEngineTarget(id, registry) ?? refusalToCall(id, access, registry);
}

/** Why a trigger of the connection may not call the function: it must be the connection's principal's, or one that it may call. */
function refusalAsTarget(id: string, access: SessionAccess, registry: Registry): string | undefined {
  const engineTarget = refusalOfEngineTarget(id, registry);
  if (engineTarget !== undefined) return engineTarget;
  if (isOwn(id, access, registry)) return undefined;
  const isProvided = registry.find(id as FunctionId) !== undefined;
  // Nobody but a trusted worker can take an id below the prefix. Once somebody does, this is decided again.
  const { prefix } = access.grants;
  if (!isProvided && prefix !== undefined && id.startsWith(`${prefix}::`)) return undefined;
  return (isProvided ? refusalToBypass(id, access) : undefined) ?? refusalToCall(id, access, registry);
}

/** Provided by connections of the same principal, and by nobody else. */
function isOwn(id: string, { grants }: SessionAccess, registry: Registry): boolean {
  const entry = registry.find(id as FunctionId);
  return entry?.registrations.every(({ provider }) => !provider.builtIn && isSamePrincipal(provider.principal, grants.principal)) ?? false;
}

/** A trigger as far as it names functions. */
export interface TriggerTargets {
  readonly functionId: string | undefined;
  readonly config: unknown;
}

export function targetsOf({ functionId, config }: TriggerTargets): string[] {
  return [...(functionId === undefined ? [] : [functionId]), ...functionReferences(config)];
}

/** The same for a trigger and all functions that its config names. */
export function refusalToBind(trigger: TriggerTargets, access: SessionAccess, registry: Registry): string | undefined {
  for (const id of targetsOf(trigger)) {
    const refusal = refusalAsTarget(id, access, registry);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
