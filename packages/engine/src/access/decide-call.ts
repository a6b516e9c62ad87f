import type { Grants } from "./grants.ts";
import type { AccessPolicy } from "./policy.ts";

/** Functions that every client needs. */
const INFRASTRUCTURE: ReadonlySet<string> = new Set([
  "engine::channels::create",
  "engine::workers::register",
  "engine::log::info",
  "engine::log::warn",
  "engine::log::error",
  "engine::log::debug",
  "engine::log::trace",
  "engine::baggage::get",
  "engine::baggage::set",
  "engine::baggage::get_all",
  // This function is safe for every client, because it accepts only reports on jobs that the caller runs.
  "queue::report_progress",
]);

/** Returns true for functions that every client may call unless they are forbidden. */
export function isInfrastructure(id: string): boolean {
  return INFRASTRUCTURE.has(id);
}

/**
 * Id prefixes of functions that start, stop or configure something. Patterns never allow such a function. It is allowed
 * only if a list has its full id, or if the grants have `admin`.
 */
const ADMINISTRATION = [
  "worker::",
  "configuration::",
  "engine::config::",
  "engine::workers::stop",
  "engine::shutdown",
  "state::snapshot",
  // These functions affect schedules and jobs of all principals.
  "cron::pause",
  "cron::resume",
  ...["pause", "resume", "purge", "discard", "cancel"].map((what) => `queue::${what}`),
  "svc::queue::discard_message",
  "iii::queue::discard_message",
  "engine::logs::",
  // These functions show addresses, versions and load of all engines.
  "engine::nodes::",
  // Alerts compare and show figures of all principals.
  "engine::alerts::",
  "engine::traces::clear",
  "engine::traces::import",
  // These functions manage triggers that belong to no connection and so outlive it.
  "engine::register_trigger",
  "engine::unregister_trigger",
];

/**
 * Returns why a connection may not call a function, or undefined if it may. Checks in this order: forbidden functions,
 * allowed functions, functions that every client needs, the listener's expose rules. `metadata` returns the metadata of
 * the function. It is called only if a rule needs it.
 */
export function callRefusal(
  id: string,
  metadata: () => unknown,
  grants: Grants,
  policy: AccessPolicy,
): string | undefined {
  if (grants.forbidden.find(id) !== undefined)
    return `function '${id}' not allowed (remove from rbac.forbidden_functions)`;
  const listed = grants.allowed.find(id);
  if (listed === "named") return undefined;
  const administers = ADMINISTRATION.some((prefix) => id.startsWith(prefix));
  if (administers && grants.admin) return undefined;
  if (administers && policy.exposeRules !== undefined)
    return `function '${id}' not allowed (it administers the engine: name it in full, or set admin)`;
  if (listed === "matched" || isInfrastructure(id) || policy.exposeRules === undefined) return undefined;
  if (policy.exposeRules.some((exposes) => exposes(id, metadata))) return undefined;
  return `function '${id}' not allowed (add to rbac.expose_functions)`;
}
