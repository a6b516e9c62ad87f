import { expect, it } from "vitest";
import { loadModules } from "../modules/index.ts";
import { diffConfig } from "./diff.ts";
import { camelCase, type EngineOptionSettings, engineOptions, optionFacts } from "./engine-options.ts";
import type { ConfigOverrides } from "./engine-settings.ts";
import { parseConfig } from "./load.ts";
import { settingsAfterReload } from "./settings-after-reload.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";

const modules = await loadModules();

/** A value of each option other than its default. */
const OTHER: Readonly<Record<keyof typeof engineOptions, unknown>> = {
  mode: "production",
  token: "0123456789abcdef",
  insecure_bind: true,
  max_connections_per_address: 7,
  data_dir: "elsewhere",
  logs_dir: "logs",
  default_timeout_ms: 7,
  legacy_call_timeout_ms: 7,
  drain_ms: 7,
  allowed_origins: ["http://localhost:5173"],
  allowed_hosts: ["BOX.example"],
  console_invoke: false,
  validate_requests: true,
  http_functions: { retries: 7 },
  log_level: "debug",
};
const NAMES = Object.keys(engineOptions) as (keyof typeof engineOptions)[];

function load(
  engine: object,
  { env = {}, overrides = {} }: { readonly env?: Record<string, string>; readonly overrides?: ConfigOverrides } = {},
): LoadedConfig {
  return parseConfig("/p/config.yaml", JSON.stringify({ engine }), {
    env,
    overrides,
    modules,
    cwd: "/cwd",
  });
}

const settingOf = (name: string): keyof EngineOptionSettings => camelCase(name) as keyof EngineOptionSettings;

it.each(NAMES)("%s is read, shown, and changed by a reload or kept until a restart", (name) => {
  const needsRestart = optionFacts.get(engineOptions[name])?.needsRestart === true;
  const [before, after] = [load({}), load({ [name]: OTHER[name] })];
  const setting = settingOf(name);

  expect(after.engine[setting]).not.toEqual(before.engine[setting]);
  expect(after.effective.filter(({ source }) => source === "file").map(({ key }) => key.split(".")[1])).toEqual([name]);
  expect(diffConfig(before, after).settings.filter(({ key }) => key === `engine.${name}`)).toMatchObject([
    { setting, needsRestart },
  ]);
  expect(settingsAfterReload(before.engine, after.engine)[setting]).toEqual(
    (needsRestart ? before : after).engine[setting],
  );
});

it.each(NAMES.filter((name) => optionFacts.get(engineOptions[name])?.env !== undefined))(
  "the variable of %s overrides the file, and a flag the variable",
  (name) => {
    const { env = "", isPath, secret } = optionFacts.get(engineOptions[name]) ?? {};
    const setting = settingOf(name);
    const other = String(OTHER[name]);
    const fromEnv = load({}, { env: { [env]: other } });
    const expected = isPath === true ? `/cwd/${other}` : other;

    expect(fromEnv.engine[setting]).toBe(expected);
    expect(fromEnv.effective).toContainEqual({
      key: `engine.${name}`,
      value: secret === undefined ? expected : "***",
      source: "env",
      ...(secret && { secret: true }),
    });
    const initial = String(load({}).engine[setting] ?? "fedcba9876543210");
    const both = load({}, { env: { [env]: other }, overrides: { [setting]: initial } });
    expect(both.engine[setting]).toBe(initial);
    expect(both.effective.find(({ key }) => key === `engine.${name}`)?.source).toBe("flag");
  },
);

it.each([
  [{ mode: "loud" }, "engine.mode of the command line: Invalid option"],
  [{ drainMs: "7.5" }, "engine.drain_ms of the command line: Invalid input"],
])("refuses %j on the command line", (overrides, problem) => {
  let message = "";
  try {
    load({}, { overrides: overrides as ConfigOverrides });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    ({ message } = error);
  }
  expect(message).toContain(problem);
});

it("reads numbers and booleans of the command line", () => {
  const { engine } = load({}, { overrides: { drainMs: "7", consoleInvoke: "false" } as unknown as ConfigOverrides });

  expect([engine.drainMs, engine.consoleInvoke]).toEqual([7, false]);
});
