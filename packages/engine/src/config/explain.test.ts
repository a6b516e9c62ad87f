import { expect, it } from "vitest";
import { loadModules } from "../modules/index.ts";
import { describedKeys } from "./described-keys.ts";
import { SETTING_VARIABLES, variableOf } from "./environment-variables.ts";
import { explainConfig } from "./explain.ts";

const modules = await loadModules();
const options = { env: {}, modules };

it("describes keys of the engine, of every module and of local workers, each once", () => {
  const keys = describedKeys(modules).map(({ key }) => key);

  expect(keys).toEqual(
    expect.arrayContaining([
      "engine.bridge.port",
      "workers[].replicas",
      ...modules.map(({ name }) => expect.stringMatching(name)),
    ]),
  );
  expect(new Set(keys).size).toBe(keys.length);
});

it("collects the keys once for all that explain a config", async () => {
  expect(describedKeys(await loadModules())).toBe(describedKeys(modules));
});

it("shows only the bounds of numbers that the schema sets", () => {
  const typeOf = (wanted: string): string | undefined => describedKeys(modules).find(({ key }) => key === wanted)?.type;

  expect(typeOf("engine.bridge.port")).toBe("integer from 0 to 65535");
  expect(typeOf("workers[].limits.memory")).toBe("integer or text");
  expect(describedKeys(modules).filter(({ type }) => type.includes(String(Number.MAX_SAFE_INTEGER)))).toEqual([]);
});

it("says which alternatives have a key", () => {
  expect(describedKeys(modules).find(({ key }) => key === "svc-state.adapter.config.redis_url")?.only).toEqual([
    "redis",
  ]);
});

it("knows the variable of each setting that one can say", () => {
  const values: Record<string, string> = {
    SVC_MODE: "production",
    SVC_TOKEN: "0123456789abcdef",
    SVC_DATA_DIR: "/tmp/data",
    SVC_LOG_LEVEL: "debug",
  };
  const env = Object.fromEntries(
    [...SETTING_VARIABLES.values()].map((name, index) => [name, values[name] ?? `${4000 + index}`]),
  );

  const fromEnv = explainConfig("/project/config.yaml", "workers: []\n", { ...options, env }).filter(
    ({ source }) => source === "env",
  );

  expect(fromEnv.map(({ key, variable }) => [key, variable]).sort()).toEqual([...SETTING_VARIABLES].sort());
  expect(variableOf("svc-observability.enabled")).toBe("OTEL_ENABLED");
});

it("finds the lines of a worker's entry, under the older list name too", () => {
  const text = "modules:\n  - name: mine\n    path: ./mine\n    replicas: 3\n";

  const explained = explainConfig("/project/config.yaml", text, options);

  expect(explained.find(({ key }) => key === "modules[0].replicas")).toMatchObject({
    value: 3,
    source: "file",
    where: "config.yaml:4",
  });
  expect(explained.find(({ key }) => key === "modules[0].watch")).toMatchObject({
    value: { include: [], ignore: [] },
    source: "default",
    where: undefined,
  });
  expect(explained.find(({ key }) => key === "modules[0].watch.include")).toMatchObject({
    value: [],
    source: "default",
  });
  expect(explained.find(({ key }) => key === "modules[0].limits.memory")).toMatchObject({
    value: undefined,
    source: undefined,
  });
});

it("distinguishes defaults in a block from the file's values", () => {
  const text = "workers:\n  - name: svc-state\n    config:\n      adapter:\n        name: file_based\n";

  const explained = explainConfig("/project/config.yaml", text, options);

  expect(explained.find(({ key }) => key === "svc-state.adapter.name")).toMatchObject({
    value: "file_based",
    source: "file",
    where: "config.yaml:5",
  });
  expect(explained.find(({ key }) => key === "svc-state.adapter.config.durability")).toMatchObject({
    value: "durable",
    source: "default",
  });
});
