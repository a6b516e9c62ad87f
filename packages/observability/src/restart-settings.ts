import { isDeepStrictEqual } from "node:util";
import type { ObservabilityConfig } from "./config.ts";

/**
 * Settings of the engine's identity and of storage. A change of one of them restarts the module and deletes the data in
 * memory.
 */
const RESTART_SETTINGS: readonly (readonly [name: string, valueOf: (config: ObservabilityConfig) => unknown])[] = [
  ["service_name", (config) => config.service_name],
  ["service_version", (config) => config.service_version],
  ["service_namespace", (config) => config.service_namespace],
  ["exporter", (config) => config.exporter],
  ["enabled", (config) => config.enabled],
  ["logs_enabled", (config) => config.logs_enabled],
  ["logs_exporter", (config) => config.logs_exporter],
  [
    "trace_storage",
    ({ trace_storage: storage }) => (storage?.enabled === true ? [storage.directory] : storage?.enabled),
  ],
];

/** Returns the names of the settings that differ, as text for a message. */
export function restartSettings(before: ObservabilityConfig, next: ObservabilityConfig): string {
  const changed = RESTART_SETTINGS.filter(([, settingOf]) => !isDeepStrictEqual(settingOf(before), settingOf(next)));
  return changed.map(([name]) => `\`${name}\``).join(", ");
}
