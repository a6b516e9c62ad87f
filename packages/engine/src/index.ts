export {
  addWorkerToConfig,
  ConfigEditError,
  type ConfigEditErrorCode,
  ConfigError,
  type ConfigOverrides,
  configJsonSchema,
  type EditOptions,
  type EditResult,
  type EngineFlag,
  type ExplainedKey,
  engineFlags,
  explainConfig,
  type LoadedConfig,
  loadConfig,
  type NewEntry,
  type NodeShare,
  nodeShareSchema,
  readConfigText,
  removeWorkerFromConfig,
} from "./config/index.ts";
export { ENGINE_VERSION, type RunningEngine, type StartOptions, startEngine } from "./engine.ts";
export { createLogger, jsonLine, type LogFields, type Logger, type LogLevel, type LogRecord } from "./kernel/logger.ts";
export type { ModuleState } from "./kernel/module-host.ts";
export type { EngineAddresses } from "./listeners.ts";
export { loadModules } from "./modules/index.ts";
export { ListenError } from "./transport/listener.ts";
