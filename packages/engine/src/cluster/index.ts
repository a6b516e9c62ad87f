/** Parts of the cluster code that the CLI uses. */

export { tryFileLock } from "../store/file-lock.ts";
export { newNkey } from "./nats/nkey.ts";
export { serverConfigs } from "./nats/server-config.ts";
export { isOlder, MIN_SERVER_VERSION } from "./nats/server-version.ts";
export { type LogSource, logSources, type StartedLog, StartRefused, startLogs } from "./start-logs.ts";
