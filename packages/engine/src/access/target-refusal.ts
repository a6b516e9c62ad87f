import type { FunctionId } from "@svc-runtime/protocol";
import { callRefusal, isInfrastructure } from "./decide-call.ts";
import { isEngineFunction } from "./engine-ids.ts";
import { isSamePrincipal, type Principal } from "./principal.ts";
import type { SessionAccess } from "./session-access.ts";

/** The part of the kernel's `Registry` that is used here. It finds the providers of a function. */
export interface ProvidedFunctions {
  find(id: FunctionId):
    | {
        readonly registrations: readonly {
          readonly provider: { readonly builtIn: boolean; readonly principal: Principal };
          readonly description: { readonly metadata: unknown };
        }[];
      }
    | undefined;
}

/** Maximum depth to which a config is searched for functions. No trigger config is deeper. */
const MAX_CONFIG_DEPTH = 16;
/** The function that enqueues a job. */
export const ENQUEUE = "engine::queue::enqueue";

/**
 * Returns why a connection may not call the function; undefined if it may. A connection may always call the functions
 * of its own principal, unless they are forbidden.
 */
export function refusalToCall(id: string, access: SessionAccess, registry: ProvidedFunctions): string | undefined {
  if (isOwn(id, access, registry) && access.grants.forbidden.find(id) === undefined) return undefined;
  const metadata = (): unknown => registry.find(id as FunctionId)?.registrations[0]?.description.metadata;
  return callRefusal(id, metadata, access.grants, access.policy);
}

/**
 * Returns true if a call of the function goes through the connection's middleware. On a listener without rules, all
 * functions go through it except those that every client needs, because nothing else protects the functions that
 * administer the engine. On a listener with rules, engine functions do not go through it, because the rules must allow
 * them. The exception is enqueueing, because the job then calls its function through the queue.
 */
export function goesThroughMiddleware(id: string, { policy }: SessionAccess): boolean {
  if (policy.middlewareFunctionId === undefined) return false;
  if (policy.exposeRules === undefined) return !isInfrastructure(id);
  return !id.startsWith("engine::") || id === ENQUEUE;
}

/**
 * Returns why the connection may not see results of the function other than by a call; undefined if it may. Triggers,
 * traces and call history bypass the middleware, so they must not show the results of functions that go through it.
 */
export function refusalToSee(id: string, access: SessionAccess, registry: ProvidedFunctions): string | undefined {
  return (isOwn(id, access, registry) ? undefined : refusalToBypass(id, access)) ?? refusalToCall(id, access, registry);
}

/**
 * Returns why the connection may not list the function; undefined if it may. On a listener without rules, functions
 * behind the middleware are not listed, because it is not known which functions the middleware allows.
 */
export function refusalToList(id: string, access: SessionAccess, registry: ProvidedFunctions): string | undefined {
  return access.policy.exposeRules === undefined
    ? refusalToSee(id, access, registry)
    : refusalToCall(id, access, registry);
}

function refusalToBypass(id: string, access: SessionAccess): string | undefined {
  if (!goesThroughMiddleware(id, access)) return undefined;
  return `function '${id}' is reachable only through the middleware ${access.policy.middlewareFunctionId}, which triggers, jobs and alerts bypass; call it directly`;
}

/**
 * Returns a reason if the function is an engine function. A job, trigger or alert of a restricted connection may not
 * call it, because the engine makes these calls, so the function would run with the engine's rights.
 */
function refusalOfEngineTarget(id: string, registry: ProvidedFunctions): string | undefined {
  const isOfEngine =
    isEngineFunction(id) ||
    registry.find(id as FunctionId)?.registrations.some(({ provider }) => provider.builtIn) === true;
  return isOfEngine
    ? `function '${id}' not allowed for jobs and triggers (it belongs to the engine, which would run it with its own rights: call it directly, or use a function of your own)`
    : undefined;
}

/**
 * Returns why the engine may not call the function on behalf of the connection, e.g. for a job; undefined if it may.
 */
export function refusalToDefer(id: string, access: SessionAccess, registry: ProvidedFunctions): string | undefined {
  return refusalOfEngineTarget(id, registry) ?? refusalToCall(id, access, registry);
}

/**
 * Returns why a trigger of the connection may not call the function. The function must belong to the connection's
 * principal, or the connection must be allowed to call it.
 */
function refusalAsTarget(id: string, access: SessionAccess, registry: ProvidedFunctions): string | undefined {
  const engineTarget = refusalOfEngineTarget(id, registry);
  if (engineTarget !== undefined) return engineTarget;
  if (isOwn(id, access, registry)) return undefined;
  const isProvided = registry.find(id as FunctionId) !== undefined;
  // A function with the connection's prefix may be bound before it is registered. Besides the connection's principal,
  // only a trusted worker can register it. If one does, this check runs again.
  const { prefix } = access.grants;
  if (!isProvided && prefix !== undefined && id.startsWith(`${prefix}::`)) return undefined;
  return (isProvided ? refusalToBypass(id, access) : undefined) ?? refusalToCall(id, access, registry);
}

/** Returns true if only connections of the same principal provide the function. */
function isOwn(id: string, { grants }: SessionAccess, registry: ProvidedFunctions): boolean {
  const entry = registry.find(id as FunctionId);
  return (
    entry?.registrations.every(
      ({ provider }) => !provider.builtIn && isSamePrincipal(provider.principal, grants.principal),
    ) ?? false
  );
}

/** The functions that a trigger names. */
export interface TriggerTargets {
  readonly functionId: string | undefined;
  readonly config: unknown;
}

export function targetsOf({ functionId, config }: TriggerTargets): string[] {
  return [...(functionId === undefined ? [] : [functionId]), ...functionReferences(config)];
}

/** Like `refusalAsTarget`, for a trigger's function and all functions that its config names. */
export function refusalToBind(
  trigger: TriggerTargets,
  access: SessionAccess,
  registry: ProvidedFunctions,
): string | undefined {
  for (const id of targetsOf(trigger)) {
    const refusal = refusalAsTarget(id, access, registry);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/**
 * Returns the ids of functions that a trigger's config names and that the engine would call, e.g.
 * `condition_function_id`: the values of all keys that end with `function_id`, `function_ids` or `middleware`.
 */
function functionReferences(config: unknown, depth = 0): string[] {
  if (typeof config !== "object" || config === null || depth > MAX_CONFIG_DEPTH) return [];
  return Object.entries(config).flatMap(([key, value]) =>
    /(?:function_ids?|middleware)$/i.test(key) ? idsIn(value) : functionReferences(value, depth + 1),
  );
}

function idsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_CONFIG_DEPTH) return [];
  // The value is an object with settings for a function. Its other members are not ids, e.g. `phase`.
  if (Object.hasOwn(value, "function_id")) return functionReferences(value, depth + 1);
  return Object.values(value).flatMap((inner) => idsIn(inner, depth + 1));
}
