import { expect, it } from "vitest";
import { consoleEnv, effectiveYaml } from "./export-text.ts";

it("exports the console's settings as environment variables and a shell command", () => {
  const text = consoleEnv([
    { flag: "--port", value: 4000, source: "flag", default: 3113, env: null },
    {
      flag: "--otel-service-name",
      value: "my console",
      source: "env",
      default: "svc-console",
      env: "OTEL_SERVICE_NAME",
    },
    { flag: "--read-only", value: true, source: "flag", default: false, env: null },
    { flag: "--host", value: "127.0.0.1", source: "default", default: "127.0.0.1", env: null },
  ]);
  expect(text).toBe("OTEL_SERVICE_NAME='my console' \\\n  svc-console --port 4000 --read-only\n");
});

it("exports effective values as YAML without secrets", () => {
  const text = effectiveYaml({
    file: "config.yaml",
    settings: [
      { key: "engine.bridge.port", value: 49134, source: "flag" },
      { key: "engine.token", value: "hunter2", source: "env" },
      { key: "svc-http.port", value: 3111, source: "default" },
    ],
    modules: [
      {
        name: "svc-state",
        instance: "svc-state",
        where: "config.yaml:3",
        settings: [{ key: "adapter", value: { name: "redis", url: "redis://:p@db" }, source: "file" }],
      },
    ],
  });
  expect(text.split("\n").slice(1)).toEqual([
    "engine:",
    "  bridge.port: 49134 # flag",
    '  token: "***" # env',
    "modules:",
    "  svc-state:",
    '    adapter: {"name":"redis","url":"redis://***@db"} # file',
    "",
  ]);
});
