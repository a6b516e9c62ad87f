import { engineOptions, optionFacts } from "./engine-options.ts";
import { telemetryVariableOf } from "./telemetry-variables.ts";

/** Environment variables for the ports of listeners. They override the config file. */
export const PORT_VARIABLES = {
  "engine.bridge.port": "SVC_BRIDGE_PORT",
  "svc-http.port": "SVC_HTTP_PORT",
  "svc-stream.port": "SVC_WS_PORT",
} as const;

/** Environment variables that override the config file, by the key of the setting. */
export const SETTING_VARIABLES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(PORT_VARIABLES),
  ...Object.entries(engineOptions).flatMap(([name, schema]) => {
    const variable = optionFacts.get(schema)?.env;
    return variable === undefined ? [] : [[`engine.${name}`, variable] as const];
  }),
]);

/** Returns the variable of a setting, e.g. SVC_BRIDGE_PORT for `engine.bridge.port`, or undefined if it has none. */
export function variableOf(key: string): string | undefined {
  return SETTING_VARIABLES.get(key) ?? telemetryVariableOf(key);
}
