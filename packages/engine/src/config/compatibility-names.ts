/**
 * Compatibility: names under which files written for the reference system, and for its older versions, name what is a module here.
 * This is the one place in the config folder that knows them. They are accepted and not advertised.
 */

/** Every module name that a config file may use, whether or not this version has the module. */
export const MODULE_NAMES = ["svc-http", "svc-state", "svc-stream", "svc-cron", "svc-event", "svc-queue", "svc-observability", "svc-exec"] as const;
export type ModuleName = (typeof MODULE_NAMES)[number];

/** Pub/sub is part of the event module. */
const OTHER_NAMES: ReadonlyMap<string, ModuleName> = new Map([["svc-pubsub", "svc-event"]]);

const PREFIX = /^(?:iii-|svc-)/;

/** `svc-state` for `svc-state`, `iii-state` and `state`; undefined for a name that is no module's. */
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

/** Every `class:` that is understood, for hints. */
export const MODULE_CLASSES: readonly string[] = [...CLASSES.keys()];

/** The name that an older `class:` stands for, e.g. `svc-state` for `modules::state::StateModule`. */
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

/** The adapter name that an older adapter `class:` stands for, e.g. `kv` for `modules::stream::adapters::KvStore`. */
export function adapterNameOfClass(className: string): string | undefined {
  if (!className.startsWith("modules::")) return undefined;
  const last = className.slice(className.lastIndexOf("::") + 2);
  return ADAPTER_CLASSES.find(([pattern]) => pattern.test(last))?.[1];
}

/** Set through `iii-worker-manager` there; the worker socket belongs to the engine here. */
export const BRIDGE_ENTRY = "worker-manager";

/** A module of its own there; here the engine always does it. */
export const HTTP_FUNCTIONS_ENTRY = "http-functions";

const REPLACED: ReadonlyMap<string, string> = new Map([
  [BRIDGE_ENTRY, "the engine has this built in; its settings are taken over, write them as engine.bridge, and those of a second entry as engine.bridges[0]"],
  ["engine-functions", "the engine has these functions built in; the entry can go"],
  ["telemetry", "svc reports nothing to anybody; the entry can go"],
  ["bridge", "svc does not forward calls between engines; let a worker connect to both"],
  [HTTP_FUNCTIONS_ENTRY, "the engine has this built in; its security settings are taken over, write them as engine.http_functions"],
  ["sandbox", "svc runs workers as processes; give a worker an entry with a path"],
  ["worker-ops", "the engine has this built in; the entry can go"],
  ["configuration", "the config file is the one place for settings; the entry can go"],
  ["compose", "list the workers here, each with its path"],
]);
const REPLACED_WITHOUT_PREFIX: ReadonlySet<string> = new Set(["configuration", "compose"]);

/** A name that only the reference has: its name without prefix, and what replaces it here. */
export function replacementOf(name: string): { readonly role: string; readonly advice: string } | undefined {
  const role = name.replace(PREFIX, "");
  if (role === name && !REPLACED_WITHOUT_PREFIX.has(role)) return undefined;
  const advice = REPLACED.get(role);
  return advice === undefined ? undefined : { role, advice };
}
