import { expect, it } from "vitest";
import { isSecretSetting, redact, redactText } from "./redact.ts";

it("takes users and passwords out of addresses, wherever they stand", () => {
  expect(redactText("redis://me:hunter2@db:6379/0 and https://x.example/?api_key=abc&x=1#top")).toBe(
    "redis://***@db:6379/0 and https://x.example/?api_key=***&x=1#top",
  );
  expect(redactText("Authorization: Bearer abc.def")).toBe("Authorization: Bearer ***");
  expect(redactText("ws://localhost:3112/a@b")).toBe("ws://localhost:3112/a@b");
});

it("masks members that are called like secrets, and settings whose key is", () => {
  const bundle = {
    settings: [
      { key: "engine.token", value: "hunter2", source: "env" },
      { key: "engine.bridge.token", value: "optional", source: "default" },
      { key: "adapter", value: { config: { password: "p", url: "redis://:p@db" } }, source: "file" },
    ],
    cookies: ["a=b"],
    count: 3,
  };
  const text = JSON.stringify(redact(bundle));
  for (const secret of ["hunter2", '"p"', ":p@", "a=b"]) expect(text).not.toContain(secret);
  expect(redact(bundle)).toMatchObject({ settings: [{ key: "engine.token", value: "***" }, { value: "optional" }, { source: "file" }], count: 3 });
});

it("masks every header, and the path of webhooks", () => {
  const bundle = {
    settings: [{ key: "headers", value: { "x-honeycomb-team": "hunter2" }, source: "file" }],
    more: { headers: { Host: "hunter2" } },
    alerts: [{ action: { type: "webhook", url: "https://hooks.example/services/hunter2" } }],
  };
  expect(redact(bundle)).toEqual({
    settings: [{ key: "headers", value: { "x-honeycomb-team": "***" }, source: "file" }],
    more: { headers: { Host: "***" } },
    alerts: [{ action: { type: "webhook", url: "https://hooks.example/***" } }],
  });
});

it("masks headers that are one text, and the path of addresses that are called webhooks", () => {
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: "x-honeycomb-team=hunter2",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-team=hunter2",
    default_headers: { "x-team": "hunter2" },
    SLACK_WEBHOOK_URL: "https://me:pw@hooks.slack.com/services/T0/hunter2",
    webhooks: ["https://a.example/hunter2", { url: "http://b.example:81?hunter2", headers: "x-team=hunter2" }, "http://c.example/"],
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
  expect(redact(env)).toEqual(masked);
  // What the engine masked stays as it is.
  expect(redact(masked)).toEqual(masked);
  const settings = Object.entries(env).map(([key, value]) => ({ key: `worker.env.${key}`, value, source: "file" }));
  expect(redact(settings)).toEqual(Object.entries(masked).map(([key, value]) => ({ key: `worker.env.${key}`, value, source: "file" })));
});

it("does not take a switch for a secret", () => {
  expect(isSecretSetting("--token-file", "/run/token")).toBe(true);
  expect(isSecretSetting("require_token", true)).toBe(false);
  expect(isSecretSetting("port", 3113)).toBe(false);
});
