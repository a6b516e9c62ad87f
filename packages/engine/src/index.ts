export { ConfigError, type ConfigProblem, type LoadedConfig } from "./config/types.ts";
export { ENGINE_VERSION, type EngineAddresses, type RunningEngine, type StartOptions, startEngine } from "./engine.ts";
export { createLogger, jsonLine, type LogFields, type Logger, type LogLevel, type LogRecord } from "./kernel/logger.ts";
export { ListenError } from "./transport/listener.ts";
