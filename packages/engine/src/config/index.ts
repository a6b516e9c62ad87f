export { configJsonSchema } from "./describe.ts";
export { type ConfigDiff, diffConfig } from "./diff.ts";
export { addWorkerToConfig, type EditResult, type NewEntry, removeWorkerFromConfig } from "./edit.ts";
export { ConfigEditError, type ConfigEditErrorCode } from "./edit-error.ts";
export { effectiveConfig } from "./effective.ts";
export type { ConfigOverrides } from "./engine-settings.ts";
export { loadConfig } from "./load.ts";
export { ConfigError, type ConfigProblem, type LoadedConfig } from "./types.ts";
export { type ConfigFileChange, watchConfig } from "./watch.ts";
