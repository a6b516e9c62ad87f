import { maskConfig } from "@svc/protocol/config-mask";
import type { ConsoleSetting } from "../../../contract/api.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { EffectiveConfig, Setting } from "./model.ts";

/** The console's own settings for a shell: variables where a setting has one, the command with the other flags. `OTEL_DISABLED` says the opposite of nothing. */
export function consoleEnv(settings: readonly ConsoleSetting[]): string {
  const changed = settings.filter(({ value, default: standard, env }) => env === null && value !== standard && value !== "");
  const variables = settings.filter(({ env }) => env !== null).map(({ env, value }) => `${env}=${shellWord(String(value))}`);
  const flags = changed.map(({ flag, value }) => (value === true ? flag : `${flag} ${shellWord(String(value))}`));
  return `${[...variables, ["svc-console", ...flags].join(" ")].join(" \\\n  ")}\n`;
}

/** All values in effect, as YAML: what the engine made of its config file, defaults written out. Values are JSON, which YAML reads. */
export function effectiveYaml({ file, settings, modules }: EffectiveConfig): string {
  const lines = [
    `# In effect, as the engine names its settings${file === null ? "" : `, from ${file}`}. Secrets are masked. Not a config file to start from.`,
    "engine:",
  ];
  const engine = settings.filter(({ key }) => key.startsWith("engine."));
  lines.push(...engine.map((setting) => `  ${line({ ...setting, key: setting.key.slice("engine.".length) })}`), "modules:");
  for (const { instance, settings: own } of modules) {
    lines.push(`  ${scalar(instance)}:${own.length === 0 ? " {}" : ""}`, ...own.map((setting) => `    ${line(setting)}`));
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
