import { telemetryVariableOf } from "./telemetry-variables.ts";

/** Variables of the environment that win over the file, by the key of the setting. */
export const SETTING_VARIABLES = {
  "engine.bridge.port": "SVC_BRIDGE_PORT",
  "svc-http.port": "SVC_HTTP_PORT",
  "svc-stream.port": "SVC_WS_PORT",
  "engine.mode": "SVC_MODE",
  "engine.token": "SVC_TOKEN",
  "engine.data_dir": "SVC_DATA_DIR",
  "engine.log_level": "SVC_LOG_LEVEL",
} as const;

/** The variable that says a setting, e.g. SVC_BRIDGE_PORT for `engine.bridge.port`; undefined where none does. */
export function variableOf(key: string): string | undefined {
  return Object.hasOwn(SETTING_VARIABLES, key) ? SETTING_VARIABLES[key as keyof typeof SETTING_VARIABLES] : telemetryVariableOf(key);
}
