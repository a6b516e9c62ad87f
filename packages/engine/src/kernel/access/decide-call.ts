import type { Grants } from "./grants.ts";
import type { AccessPolicy } from "./policy.ts";

/** What every client needs to work at all. */
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
]);

/** True for functions that every client may call, unless they are forbidden to it. */
export function isInfrastructure(id: string): boolean {
  return INFRASTRUCTURE.has(id);
}

/** Begin functions that start, stop or configure things. A pattern never lets anybody call them; a name in a list does, and `admin`. */
const ADMINISTRATION = [
  "worker::",
  "configuration::",
  "engine::config::",
  "engine::workers::stop",
  "engine::shutdown",
  "state::snapshot",
  // They act on everybody's schedules and jobs.
  "cron::pause",
  "cron::resume",
  ...["pause", "resume", "purge", "discard", "cancel"].map((what) => `queue::${what}`),
  "svc::queue::discard_message",
  "iii::queue::discard_message",
  "engine::logs::",
  ...["create", "update", "delete", "silence"].map((what) => `engine::alerts::${what}`),
  "engine::traces::clear",
  "engine::traces::import",
  // Such triggers belong to no connection: they stay when it ends.
  "engine::register_trigger",
  "engine::unregister_trigger",
];

/**
 * Whether a connection may call a function: forbidden, allowed, infrastructure, the listener's expose rules, in this order. Undefined when
 * it may, else the sentence that tells why not. `metadata` is that of the function, asked only where a rule looks at it.
 */
export function callRefusal(id: string, metadata: () => unknown, grants: Grants, policy: AccessPolicy): string | undefined {
  if (grants.forbidden.find(id) !== undefined) return `function '${id}' not allowed (remove from rbac.forbidden_functions)`;
  const listed = grants.allowed.find(id);
  if (listed === "named") return undefined;
  const administers = ADMINISTRATION.some((prefix) => id.startsWith(prefix));
  if (administers && grants.admin) return undefined;
  if (administers && policy.exposeRules !== undefined) return `function '${id}' not allowed (it administers the engine: name it in full, or set admin)`;
  if (listed === "matched" || isInfrastructure(id) || policy.exposeRules === undefined) return undefined;
  if (policy.exposeRules.some((exposes) => exposes(id, metadata))) return undefined;
  return `function '${id}' not allowed (add to rbac.expose_functions)`;
}
