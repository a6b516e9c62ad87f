export { configJsonSchema } from "./config-json-schema.ts";
export { type ConfigDiff, diffConfig } from "./diff.ts";
export {
  addWorkerToConfig,
  type EditOptions,
  type EditResult,
  type NewEntry,
  removeWorkerFromConfig,
} from "./edit/edit-config.ts";
export { ConfigEditError, type ConfigEditErrorCode } from "./edit/edit-error.ts";
export { effectiveConfig } from "./effective.ts";
export { type EngineFlag, engineFlags } from "./engine-options.ts";
export type { ConfigOverrides } from "./engine-settings.ts";
export { type ExplainedKey, explainConfig } from "./explain.ts";
export { loadConfig, readConfigText } from "./load.ts";
export { type NodeShare, nodeShareSchema } from "./node-share.ts";
export { ConfigError, type LoadedConfig } from "./types.ts";
export { type ConfigFileChange, watchConfig } from "./watch.ts";
