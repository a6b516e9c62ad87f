export { configJsonSchema } from "./describe.ts";
export { type Changed, type ConfigDiff, diffConfig, type EntryChanges, type SettingChange } from "./diff.ts";
export { addWorkerToConfig, type EditResult, type NewEntry, type NewLocalWorkerEntry, type NewModuleEntry, removeWorkerFromConfig } from "./edit.ts";
export { ConfigEditError, type ConfigEditErrorCode } from "./edit-error.ts";
export type { ConfigOverrides } from "./engine-settings.ts";
export { type LoadOptions, loadConfig, parseConfig } from "./load.ts";
export { didYouMean, nearestName } from "./nearest-name.ts";
export {
  ConfigError,
  type ConfigProblem,
  type EffectiveSetting,
  type EngineSettings,
  type ListenAddress,
  type LoadedConfig,
  type LocalWorkerEntry,
  type ModuleEntry,
  type SettingSource,
} from "./types.ts";
export { type ConfigFileChange, type ConfigWatch, type WatchOptions, watchConfig } from "./watch.ts";
export type { KnownModule, KnownModules } from "./worker-entries.ts";
