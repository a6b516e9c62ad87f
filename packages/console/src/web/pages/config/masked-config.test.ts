import { maskConfig } from "@svc-runtime/protocol/config-mask";
import { selfEvidentForms, settingForms } from "@svc-runtime/protocol/testing/planted-secrets";
import { expect, it } from "vitest";
import { effectiveYaml } from "./export-text.ts";

it("masks members and settings whose name is that of a secret", () => {
  const bundle = {
    settings: [
      { key: "engine.token", value: "hunter2", source: "env" },
      { key: "engine.bridge.token", value: "optional", source: "default" },
      { key: "adapter", value: { config: { password: "p", url: "redis://:p@db" } }, source: "file" },
    ],
    cookies: ["a=b"],
    count: 3,
  };
  const text = JSON.stringify(maskConfig(bundle));
  for (const secret of ["hunter2", '"p"', ":p@", "a=b"]) expect(text).not.toContain(secret);
  expect(maskConfig(bundle)).toMatchObject({
    settings: [{ key: "engine.token", value: "***" }, { value: "optional" }, { source: "file" }],
    count: 3,
  });
});

it("masks every header, and the path of webhooks", () => {
  const bundle = {
    settings: [{ key: "headers", value: { "x-honeycomb-team": "hunter2" }, source: "file" }],
    more: { headers: { Host: "hunter2" } },
    alerts: [{ action: { type: "webhook", url: "https://hooks.example/services/hunter2" } }],
  };
  expect(maskConfig(bundle)).toEqual({
    settings: [{ key: "headers", value: { "x-honeycomb-team": "***" }, source: "file" }],
    more: { headers: { Host: "***" } },
    alerts: [{ action: { type: "webhook", url: "https://hooks.example/***" } }],
  });
});

it("masks headers given as one string, and the path of webhook URLs", () => {
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: "x-honeycomb-team=hunter2",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-team=hunter2",
    default_headers: { "x-team": "hunter2" },
    SLACK_WEBHOOK_URL: "https://me:pw@hooks.slack.com/services/T0/hunter2",
    webhooks: [
      "https://a.example/hunter2",
      { url: "http://b.example:81?hunter2", headers: "x-team=hunter2" },
      "http://c.example/",
    ],
    HEADERSIZE: "8",
  };
  const masked = {
    OTEL_EXPORTER_OTLP_HEADERS: "***",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "***",
    default_headers: { "x-team": "***" },
    SLACK_WEBHOOK_URL: "https://hooks.slack.com/***",
    webhooks: ["https://a.example/***", { url: "http://b.example:81/***", headers: "***" }, "http://c.example/"],
    HEADERSIZE: "8",
  };
  expect(maskConfig(env)).toEqual(masked);
  // Values that the engine masked stay unchanged.
  expect(maskConfig(masked)).toEqual(masked);
  const settings = Object.entries(env).map(([key, value]) => ({ key: `worker.env.${key}`, value, source: "file" }));
  expect(maskConfig(settings)).toEqual(
    Object.entries(masked).map(([key, value]) => ({ key: `worker.env.${key}`, value, source: "file" })),
  );
});

it("does not mask booleans and numbers of secret-like settings", () => {
  expect(maskConfig("/run/token", ["--token-file"])).toBe("***");
  expect(maskConfig(true, ["require_token"])).toBe(true);
  expect(maskConfig(3113, ["port"])).toBe(3113);
});

const SECRET = "40404040404040";
it.each([...selfEvidentForms(SECRET), ...settingForms(SECRET)].map((value) => [JSON.stringify(value), value]))(
  "exports no secret of %s",
  (_text, value) => {
    const setting = { key: "adapter", value, source: "file" };
    const config = {
      file: "config.yaml",
      settings: [{ ...setting, key: "engine.extra" }],
      modules: [{ name: "m", instance: "m", where: "", settings: [setting] }],
    };
    expect(effectiveYaml(config)).not.toContain(SECRET);
    expect(JSON.stringify(maskConfig({ engine: { "engine::config::effective": config } }))).not.toContain(SECRET);
  },
);
