import { maskConfig } from "@svc-runtime/protocol/config-mask";
import type { ConsoleSetting } from "../../../contract/api.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { EffectiveConfig, Setting } from "./model.ts";

/**
 * Returns a shell command that starts a console with these settings. Settings that came from an environment variable
 * are set by the variable, all others by flags.
 */
export function consoleEnv(settings: readonly ConsoleSetting[]): string {
  const changed = settings.filter(
    ({ value, default: defaultValue, env }) => env === null && value !== defaultValue && value !== "",
  );
  const variables = settings
    .filter(({ env }) => env !== null)
    .map(({ env, value }) => `${env}=${shellWord(String(value))}`);
  const flags = changed.map(({ flag, value }) => (value === true ? flag : `${flag} ${shellWord(String(value))}`));
  return `${[...variables, ["svc-console", ...flags].join(" ")].join(" \\\n  ")}\n`;
}

/** Returns all effective values as YAML, including defaults. Each value is written as JSON, which is valid YAML. */
export function effectiveYaml({ file, settings, modules }: EffectiveConfig): string {
  const lines = [
    `# Effective settings, by the engine's names${file === null ? "" : `, from ${file}`}. Secrets are masked. Not usable as a config file.`,
    "engine:",
  ];
  const engine = settings.filter(({ key }) => key.startsWith("engine."));
  lines.push(
    ...engine.map((setting) => `  ${line({ ...setting, key: setting.key.slice("engine.".length) })}`),
    "modules:",
  );
  for (const { instance, settings: own } of modules) {
    lines.push(
      `  ${scalar(instance)}:${own.length === 0 ? " {}" : ""}`,
      ...own.map((setting) => `    ${line(setting)}`),
    );
  }
  return `${lines.join("\n")}\n`;
}

function line(setting: Setting): string {
  const { key, value } = maskConfig(setting) as Setting;
  return `${scalar(key)}: ${JSON.stringify(value)}${setting.source === "default" ? "" : ` # ${setting.source}`}`;
}

function scalar(name: string): string {
  return /^[A-Za-z_][\w.:-]*$/.test(name) && !name.endsWith(":") ? name : JSON.stringify(name);
}
