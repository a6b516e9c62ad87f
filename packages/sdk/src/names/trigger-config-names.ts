import { camelCase } from "./case.ts";
import { checkedOptions, type OptionNames, optionNames } from "./option-names.ts";

/** Members that the configs of all trigger types have. */
const COMMON = ["condition_function_id", "description"];
const STATE = ["scope", "key", "prefix", "event_types", "max_attempts", ...COMMON];
const JOIN = ["stream_name", "group_id", ...COMMON];
const SUBSCRIBE = ["topic", ...COMMON];

/**
 * Members of the configs of the engine's trigger types, by their names on the wire. Configs of other types are values
 * of users and stay unchanged.
 */
const CONFIGS: Readonly<Record<string, readonly string[]>> = {
  http: [
    "api_path",
    "http_method",
    "middleware_function_ids",
    "timeout_ms",
    "body",
    "streaming",
    "body_limit_bytes",
    "form_limit_bytes",
    "concurrency_limit",
    "queue_limit",
    "rate_limit",
    "cors",
    "compression",
    ...COMMON,
  ],
  state: STATE,
  "state:created": STATE,
  "state:updated": STATE,
  "state:deleted": STATE,
  stream: ["item_id", ...JOIN],
  "stream:join": JOIN,
  "stream:leave": JOIN,
  cron: ["expression", "timezone", "overlap", "misfire", "queue", "jitter_ms", "start_at", "end_at", ...COMMON],
  event: ["event", "event_name", ...SUBSCRIBE],
  subscribe: SUBSCRIBE,
  queue: ["queue", ...COMMON],
  "durable:subscriber": ["queue_config", ...SUBSCRIBE],
};

/** Members whose values are objects or lists that the engine defines, with the members of these objects. */
const INNER: Readonly<Record<string, readonly string[]>> = {
  middleware_function_ids: ["function_id", "phase", "priority", "with_body"],
  rate_limit: ["requests", "per_ms"],
  cors: ["allowed_origins", "allowed_methods", "allowed_headers", "exposed_headers", "credentials", "max_age"],
  // The members of this object are in camelCase on the wire too.
  queue_config: [
    "type",
    "maxRetries",
    "concurrency",
    "visibilityTimeout",
    "delaySeconds",
    "backoffType",
    "backoffDelayMs",
  ],
};

/** Members whose wire names the specification uses, so that both spellings are valid. */
const SPECIFIED: readonly string[] = ["api_path", "http_method", "function_id"];

/**
 * Returns a trigger's config with the names of the wire. If the type is not one of the engine's, the config stays
 * unchanged.
 *
 * @throws TypeError for a member that the type does not have.
 */
export function wireTriggerConfig(type: string, config: unknown): unknown {
  const members = Object.hasOwn(CONFIGS, type) ? CONFIGS[type] : undefined;
  return members === undefined ? config : toWire(config, members, `the config of a trigger of type ${type}`);
}

function toWire(given: unknown, members: readonly string[], of: string): unknown {
  if (Array.isArray(given)) return given.map((item) => toWire(item, members, of));
  // Other values are passed on, because the engine rejects them with a message of its own.
  if (typeof given !== "object" || given === null) return given;
  const config = checkedOptions(given, namesOf(members, of)) as Readonly<Record<string, unknown>>;
  const wire: Record<string, unknown> = {};
  for (const member of members) {
    const name = camelCase(member);
    if (!Object.hasOwn(config, name)) continue;
    const inner = INNER[member];
    wire[member] = inner === undefined ? config[name] : toWire(config[name], inner, `${name} of ${of}`);
  }
  return wire;
}

function namesOf(members: readonly string[], of: string): OptionNames {
  const old: Record<string, string> = {};
  const specified: Record<string, string> = {};
  for (const member of members) {
    const name = camelCase(member);
    if (name !== member) (SPECIFIED.includes(member) ? specified : old)[member] = name;
  }
  return optionNames(of, members.map(camelCase), old, specified);
}
