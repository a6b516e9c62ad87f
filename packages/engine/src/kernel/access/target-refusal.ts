import type { FunctionId } from "@svc/protocol";
import type { Registry } from "../registry.ts";
import { callRefusal, isInfrastructure } from "./decide-call.ts";
import { functionReferences } from "./function-references.ts";
import { isSamePrincipal } from "./principal.ts";
import type { SessionAccess } from "./session-access.ts";

/** Why a connection may not call the function; undefined when it may. What its own principal provides it may, unless it is forbidden. */
export function refusalToCall(id: string, access: SessionAccess, registry: Registry): string | undefined {
  if (isOwn(id, access, registry) && access.grants.forbidden.find(id) === undefined) return undefined;
  const metadata = (): unknown => registry.find(id as FunctionId)?.registrations[0]?.description.metadata;
  return callRefusal(id, metadata, access.grants, access.policy);
}

/**
 * Why the connection may not see, without calling the function, what the function returns and that it exists; undefined when it may. Without
 * rules the middleware decides over each call, and it gets no triggers, so only functions of the connection's own principal are seen that way.
 */
export function refusalToSee(id: string, access: SessionAccess, registry: Registry): string | undefined {
  const { exposeRules, middlewareFunctionId } = access.policy;
  const isDecidedByMiddleware = exposeRules === undefined && !isInfrastructure(id) && !isOwn(id, access, registry);
  if (!isDecidedByMiddleware) return refusalToCall(id, access, registry);
  return `calls of function '${id}' go through ${middlewareFunctionId}, which triggers would not: call it directly`;
}

/** First parts of the ids of functions of the engine. */
export const ENGINE_NAMESPACES: ReadonlySet<string> = new Set(["cron", "engine", "event", "iii", "queue", "state", "stream", "svc", "worker"]);

/** Id of the one function of the engine that is in no namespace: published clients publish events by this name. */
const PUBLISH = "publish";

/** True for ids of functions of the engine, also of modules that are not loaded. */
export function isEngineFunction(id: string): boolean {
  return id === PUBLISH || ENGINE_NAMESPACES.has(id.split("::", 1)[0] ?? "");
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
  const { middlewareFunctionId } = access.policy;
  if (isProvided && middlewareFunctionId !== undefined) {
    return `calls of this connection go through ${middlewareFunctionId}, which triggers would not: bind a function of its own`;
  }
  return refusalToCall(id, access, registry);
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
