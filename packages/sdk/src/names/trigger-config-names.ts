import { camelCase } from "./case.ts";
import { checkedOptions, type OptionNames, optionNames } from "./option-names.ts";

/** Members of an object in a config, by their names on the wire. */
interface Members {
  readonly [member: string]: Members | Leaf;
}
/** A value without members of the engine, and whether the specification writes out the member's name. */
type Leaf = "value" | "specified";

/** Members that all types have. */
const COMMON = { condition_function_id: "value", description: "value" } as const satisfies Members;
const STATE = {
  scope: "value",
  key: "value",
  prefix: "value",
  event_types: "value",
  max_attempts: "value",
  ...COMMON,
} as const;
const JOIN = { stream_name: "value", group_id: "value", ...COMMON } as const;
const SUBSCRIBE = { topic: "value", ...COMMON } as const;

/** Configs of the engine's trigger types. Those of other types are values of users. */
const CONFIGS: Readonly<Record<string, Members>> = {
  http: {
    api_path: "specified",
    http_method: "specified",
    middleware_function_ids: { function_id: "specified", phase: "value", priority: "value", with_body: "value" },
    timeout_ms: "value",
    body: "value",
    streaming: "value",
    body_limit_bytes: "value",
    form_limit_bytes: "value",
    concurrency_limit: "value",
    queue_limit: "value",
    rate_limit: { requests: "value", per_ms: "value" },
    cors: {
      allowed_origins: "value",
      allowed_methods: "value",
      allowed_headers: "value",
      exposed_headers: "value",
      credentials: "value",
      max_age: "value",
    },
    compression: "value",
    ...COMMON,
  },
  state: STATE,
  "state:created": STATE,
  "state:updated": STATE,
  "state:deleted": STATE,
  stream: { item_id: "value", ...JOIN },
  "stream:join": JOIN,
  "stream:leave": JOIN,
  cron: {
    expression: "value",
    timezone: "value",
    overlap: "value",
    misfire: "value",
    queue: "value",
    jitter_ms: "value",
    start_at: "value",
    end_at: "value",
    ...COMMON,
  },
  event: { event: "value", event_name: "value", ...SUBSCRIBE },
  subscribe: SUBSCRIBE,
  queue: { queue: "value", ...COMMON },
  "durable:subscriber": {
    // The members of this one are in camelCase on the wire too.
    queue_config: {
      type: "value",
      maxRetries: "value",
      concurrency: "value",
      visibilityTimeout: "value",
      delaySeconds: "value",
      backoffType: "value",
      backoffDelayMs: "value",
    },
    ...SUBSCRIBE,
  },
};

/**
 * Returns a trigger's config under the names of the wire. A config of a type that is not the engine's stays unchanged.
 *
 * @throws TypeError for a member that the type does not have.
 */
export function wireTriggerConfig(type: string, config: unknown): unknown {
  const members = Object.hasOwn(CONFIGS, type) ? CONFIGS[type] : undefined;
  return members === undefined ? config : toWire(config, members, `the config of a trigger of type ${type}`);
}

function toWire(given: unknown, members: Members, of: string): unknown {
  if (Array.isArray(given)) return given.map((item) => toWire(item, members, of));
  // The engine rejects other values with its own message.
  if (typeof given !== "object" || given === null) return given;
  const config = checkedOptions(given, namesOf(members, of)) as Readonly<Record<string, unknown>>;
  const wire: Record<string, unknown> = {};
  for (const [member, inner] of Object.entries(members)) {
    const name = camelCase(member);
    if (!Object.hasOwn(config, name)) continue;
    const value = config[name];
    wire[member] = typeof inner === "string" ? value : toWire(value, inner, `${name} of ${of}`);
  }
  return wire;
}

function namesOf(members: Members, of: string): OptionNames {
  const old: Record<string, string> = {};
  const specified: Record<string, string> = {};
  for (const [member, inner] of Object.entries(members)) {
    const name = camelCase(member);
    if (name !== member) (inner === "specified" ? specified : old)[member] = name;
  }
  return optionNames(of, Object.keys(members).map(camelCase), old, specified);
}
