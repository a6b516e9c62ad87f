import { isDeepStrictEqual } from "node:util";
import { camelCase, type EngineOptionSettings, engineOptions, optionFacts } from "./engine-options.ts";
import type { EngineSettings, ListenAddress, LoadedConfig, LocalWorkerEntry, ModuleEntry } from "./types.ts";

export interface Changed<T> {
  readonly before: T;
  readonly after: T;
}

export interface EntryChanges<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
  readonly changed: readonly Changed<T>[];
}

export interface SettingChange {
  readonly setting: keyof EngineSettings;
  /** Name in the file, e.g. `engine.drain_ms`. */
  readonly key: string;
  readonly before: EngineSettings[keyof EngineSettings];
  readonly after: EngineSettings[keyof EngineSettings];
  /** True if a running engine keeps the old value. */
  readonly needsRestart: boolean;
}

/** Differences that a running engine has to apply. The position of an entry in the file does not matter. */
export interface ConfigDiff {
  /** Entries with the same `instance` are compared. */
  readonly modules: EntryChanges<ModuleEntry>;
  /** Entries with the same `name` are compared. */
  readonly localWorkers: EntryChanges<LocalWorkerEntry>;
  /** Undefined if the address stays the same. */
  readonly http: Changed<ListenAddress> | undefined;
  readonly realtime: Changed<ListenAddress> | undefined;
  readonly settings: readonly SettingChange[];
  /** One sentence for each changed setting that takes effect only after a restart. */
  readonly warnings: readonly string[];
  /** True if the configs are equal. */
  readonly isEmpty: boolean;
}

/** The address of the bridge needs a restart, because connected workers use this address to reconnect. */
const SETTINGS: ReadonlyMap<keyof EngineSettings, { readonly key: string; readonly needsRestart: boolean }> = new Map([
  ["bridge", { key: "engine.bridge", needsRestart: true }],
  ["bridgeAccess", { key: "engine.bridge", needsRestart: false }],
  ["cluster", { key: "engine.cluster", needsRestart: true }],
  ["bridges", { key: "engine.bridges", needsRestart: false }],
  ...Object.entries(engineOptions).map(
    ([name, schema]) =>
      [
        camelCase(name) as keyof EngineOptionSettings,
        { key: `engine.${name}`, needsRestart: optionFacts.get(schema)?.needsRestart === true },
      ] as const,
  ),
]);

export function diffConfig(before: LoadedConfig, after: LoadedConfig): ConfigDiff {
  const modules = compareEntries(before.modules, after.modules, (entry) => entry.instance);
  const localWorkers = compareEntries(before.localWorkers, after.localWorkers, (entry) => entry.name);
  const http = changedValue(before.http, after.http);
  const realtime = changedValue(before.realtime, after.realtime);
  const settings = compareSettings(before.engine, after.engine);
  const warnings = settings
    .filter((change) => change.needsRestart)
    .map(
      (change) =>
        `${change.key} changed from ${shown(change.setting, change.before)} to ${shown(change.setting, change.after)}; it takes effect when the engine restarts`,
    );
  const isEmpty =
    countOf(modules) + countOf(localWorkers) + settings.length === 0 && http === undefined && realtime === undefined;
  return { modules, localWorkers, http, realtime, settings, warnings, isEmpty };
}

function compareEntries<T extends { readonly where: string }>(
  before: readonly T[],
  after: readonly T[],
  idOf: (entry: T) => string,
): EntryChanges<T> {
  const old = new Map(before.map((entry) => [idOf(entry), entry]));
  const kept = new Set(after.map(idOf));
  const changed: Changed<T>[] = [];
  for (const entry of after) {
    const earlier = old.get(idOf(entry));
    if (earlier !== undefined && !isDeepStrictEqual({ ...earlier, where: "" }, { ...entry, where: "" }))
      changed.push({ before: earlier, after: entry });
  }
  return {
    added: after.filter((entry) => !old.has(idOf(entry))),
    removed: before.filter((entry) => !kept.has(idOf(entry))),
    changed,
  };
}

function compareSettings(before: EngineSettings, after: EngineSettings): SettingChange[] {
  const changes: SettingChange[] = [];
  for (const [setting, about] of SETTINGS) {
    if (isDeepStrictEqual(before[setting], after[setting])) continue;
    changes.push({ setting, ...about, before: before[setting], after: after[setting] });
  }
  return changes;
}

function changedValue<T>(before: T, after: T): Changed<T> | undefined {
  return isDeepStrictEqual(before, after) ? undefined : { before, after };
}

function countOf(changes: EntryChanges<unknown>): number {
  return changes.added.length + changes.removed.length + changes.changed.length;
}

function shown(setting: keyof EngineSettings, value: EngineSettings[keyof EngineSettings]): string {
  if (setting === "token") return value === undefined ? "the one in .svc/token" : "a configured one";
  // The block is not shown, because it may contain secrets.
  if (setting === "cluster") return value === undefined ? "none" : "another block";
  if (typeof value === "object" && "port" in value) return `${value.host}:${value.port}`;
  return String(value);
}
