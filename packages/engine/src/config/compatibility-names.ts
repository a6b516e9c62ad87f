/**
 * Compatibility: module names that are used in config files of the reference system and of its older versions. No other
 * file of the config folder contains them. They are accepted, but not documented to users.
 */

/** Every module name that a config file may use, whether or not this version has the module. */
export const MODULE_NAMES = [
  "svc-http",
  "svc-state",
  "svc-stream",
  "svc-cron",
  "svc-event",
  "svc-queue",
  "svc-observability",
  "svc-exec",
] as const;
export type ModuleName = (typeof MODULE_NAMES)[number];

/** Pub/sub is part of the event module. */
const OTHER_NAMES: ReadonlyMap<string, ModuleName> = new Map([["svc-pubsub", "svc-event"]]);

const PREFIX = /^(?:iii-|svc-)/;

/**
 * Returns the name of the module, e.g. `svc-state` for `svc-state`, `iii-state` and `state`. Undefined if no module has
 * it.
 */
export function canonicalModuleName(name: string): ModuleName | undefined {
  const prefixed = `svc-${name.replace(PREFIX, "")}`;
  return MODULE_NAMES.find((known) => known === prefixed) ?? OTHER_NAMES.get(prefixed);
}

const CLASSES: ReadonlyMap<string, string> = new Map([
  ["modules::api::RestApiModule", "svc-http"],
  ["modules::state::StateModule", "svc-state"],
  ["modules::stream::StreamModule", "svc-stream"],
  ["modules::cron::CronModule", "svc-cron"],
  ["modules::event::EventModule", "svc-event"],
  ["modules::pubsub::PubSubModule", "svc-event"],
  ["modules::queue::QueueModule", "svc-queue"],
  ["modules::observability::OtelModule", "svc-observability"],
  ["modules::shell::ExecModule", "svc-exec"],
  ["modules::bridge_client::BridgeClientModule", "iii-bridge"],
]);

/** Every accepted `class:`, for suggestions in messages. */
export const MODULE_CLASSES: readonly string[] = [...CLASSES.keys()];

/** Returns the module name of an older `class:`, e.g. `svc-state` for `modules::state::StateModule`. */
export function moduleNameOfClass(className: string): string | undefined {
  return CLASSES.get(className);
}

const ADAPTER_CLASSES: readonly (readonly [RegExp, string])[] = [
  [/^Kv(?:Store|Adapter|CronAdapter)?$/, "kv"],
  [/^Redis/, "redis"],
  [/^RabbitMQ/i, "rabbitmq"],
  [/^Local/, "local"],
  [/^(?:Builtin|BuiltIn)/, "builtin"],
  [/^Bridge/, "bridge"],
];

/** Returns the adapter name of an older adapter `class:`, e.g. `kv` for `modules::stream::adapters::KvStore`. */
export function adapterNameOfClass(className: string): string | undefined {
  if (!className.startsWith("modules::")) return undefined;
  const last = className.slice(className.lastIndexOf("::") + 2);
  return ADAPTER_CLASSES.find(([pattern]) => pattern.test(last))?.[1];
}

/**
 * In the reference, the entry `iii-worker-manager` configures the worker socket. In svc, the socket belongs to the
 * engine.
 */
export const BRIDGE_ENTRY = "worker-manager";

/** In the reference, HTTP functions are a separate module. In svc, they are built into the engine. */
export const HTTP_FUNCTIONS_ENTRY = "http-functions";

const REPLACED: ReadonlyMap<string, string> = new Map([
  [
    BRIDGE_ENTRY,
    "it is built in; its settings are applied, write them as engine.bridge, and those of a second entry as engine.bridges[0]",
  ],
  ["engine-functions", "these functions are built in; remove the entry"],
  ["telemetry", "svc sends no usage data; remove the entry"],
  ["bridge", "svc does not forward calls between engines; connect a worker to both"],
  [HTTP_FUNCTIONS_ENTRY, "it is built in; its security settings are applied, write them as engine.http_functions"],
  ["sandbox", "svc runs workers as processes; give a worker an entry with a path"],
  ["worker-ops", "it is built in; remove the entry"],
  ["configuration", "all settings are in the config file; remove the entry"],
  ["compose", "list the workers here, each with its path"],
]);
const REPLACED_WITHOUT_PREFIX: ReadonlySet<string> = new Set(["configuration", "compose"]);

/** Returns what replaces a module that only the reference has: its name without prefix, and advice for the user. */
export function replacementOf(name: string): { readonly role: string; readonly advice: string } | undefined {
  const role = name.replace(PREFIX, "");
  if (role === name && !REPLACED_WITHOUT_PREFIX.has(role)) return undefined;
  const advice = REPLACED.get(role);
  return advice === undefined ? undefined : { role, advice };
}
