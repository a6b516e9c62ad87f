import { expect, test } from "vitest";
import { loadModules } from "../modules/index.ts";
import { effectiveConfig } from "./effective.ts";
import { parseConfig } from "./load.ts";

const modules = await loadModules();

function load(text: string, env: Readonly<Record<string, string>>) {
  const config = parseConfig("/project/config.yaml", text, { env, modules });
  const settings =
    effectiveConfig(config, modules).modules.find(({ name }) => name === "svc-observability")?.settings ?? [];
  return { config, shown: (key: string) => settings.find((setting) => setting.key === key) };
}

test("variables of OpenTelemetry fill in what the file leaves out, and show their source", () => {
  const env = {
    OTEL_EXPORTER_TYPE: "both",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
    OTEL_METRICS_ENABLED: "off",
  };
  const { config, shown } = load("modules:\n  - name: svc-observability\n    config:\n      exporter: memory\n", env);
  expect(config.modules[0]?.config).toEqual({
    exporter: "memory",
    endpoint: "http://collector:4318",
    sampling_ratio: 0.25,
    metrics_enabled: false,
  });
  expect(shown("exporter")).toMatchObject({ value: "memory", source: "file" });
  expect(shown("endpoint")).toMatchObject({ value: "http://collector:4318", source: "env" });
  expect(shown("service_name")).toMatchObject({ value: "svc", source: "default" });
});

test("they count where the file has no block, too", () => {
  const { config } = load("workers: []\n", { OTEL_SERVICE_NAME: "shop" });
  expect(config.modules).toEqual([
    {
      name: "svc-observability",
      instance: "svc-observability",
      where: "environment",
      config: { service_name: "shop" },
    },
  ]);
  expect(load("workers: []\n", {}).config.modules).toEqual([]);
});

test("a value that is for another program is left alone with a warning", () => {
  const { config } = load("workers: []\n", {
    OTEL_METRICS_EXPORTER: "none",
    OTEL_TRACES_SAMPLER_ARG: "much",
    OTEL_EXPORTER_OTLP_ENDPOINT: "",
  });
  expect(config.modules).toEqual([]);
  expect(config.warnings).toEqual([
    expect.stringContaining("OTEL_TRACES_SAMPLER_ARG"),
    expect.stringContaining("OTEL_METRICS_EXPORTER"),
  ]);
});

test("headers are read as exporters read them, and not shown", () => {
  const { config, shown } = load("workers: []\n", {
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc,x-team=a=b",
  });
  expect(config.modules[0]?.config).toEqual({ headers: { authorization: "Bearer abc", "x-team": "a=b" } });
  expect(JSON.stringify(shown("headers"))).not.toContain("abc");
});
