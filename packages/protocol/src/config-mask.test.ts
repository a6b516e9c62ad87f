import { expect, it } from "vitest";
import { maskConfig } from "./config-mask.ts";
import { MASK } from "./secret-names.ts";

it.each([
  ["an address without credentials", "http://localhost:3111/a?b=c", "http://localhost:3111/a?b=c"],
  ["a user alone", "redis://ada@db", `redis://${MASK}@db`],
  ["several addresses", ["nats://a:b@x", "nats://y"], [`nats://${MASK}@x`, "nats://y"]],
  ["a list below a secret's name", { tokens: ["a", "b"] }, { tokens: MASK }],
  [
    "headers, whatever they are called",
    { headers: { "x-honeycomb-team": "hunter2", Host: "a" } },
    { headers: { "x-honeycomb-team": MASK, Host: MASK } },
  ],
  [
    "headers that are one text, as exporters take them from the environment",
    {
      OTEL_EXPORTER_OTLP_HEADERS: "x-honeycomb-team=hunter2",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-team=hunter2",
      extra_headers: ["x-team: hunter2"],
      default_headers: { "x-team": "hunter2" },
      HEADERSIZE: "8",
    },
    {
      OTEL_EXPORTER_OTLP_HEADERS: MASK,
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: MASK,
      extra_headers: [MASK],
      default_headers: { "x-team": MASK },
      HEADERSIZE: "8",
    },
  ],
  [
    "what is called a webhook",
    {
      SLACK_WEBHOOK_URL: "https://me:hunter2@hooks.slack.com/services/T0/B0/hunter2",
      WEBHOOKS: "https://a.example/hunter2 http://b.example:81?hunter2 http://c.example/",
      webhook: { name: "ops", url: "https://a.example/hunter2", headers: "x-team=hunter2" },
      webhookUrls: ["https://a.example/hunter2"],
      webhook_timeout: 5,
    },
    {
      SLACK_WEBHOOK_URL: `https://hooks.slack.com/${MASK}`,
      WEBHOOKS: `https://a.example/${MASK} http://b.example:81/${MASK} http://c.example/`,
      webhook: { name: "ops", url: `https://a.example/${MASK}`, headers: MASK },
      webhookUrls: [`https://a.example/${MASK}`],
      webhook_timeout: 5,
    },
  ],
  [
    "the path of a webhook",
    [
      { type: "webhook", url: "https://user:pw@hooks.example/services/T0/B0/hunter2?x=1" },
      { type: "webhook", url: "http://localhost:1" },
      { type: "function", path: "oncall::page", url: "/a" },
    ],
    [
      { type: "webhook", url: `https://hooks.example/${MASK}` },
      { type: "webhook", url: "http://localhost:1" },
      { type: "function", path: "oncall::page", url: "/a" },
    ],
  ],
  ["nothing", { token: null }, { token: null }],
  [
    "a name that every object has",
    JSON.parse('{"__proto__":{"secret":"s"}}'),
    JSON.parse(`{"__proto__":{"secret":"${MASK}"}}`),
  ],
  [
    "what a listener says about tokens",
    {
      bridge: { token: "required" },
      bridges: [{ token: "optional", rbac: { tokens: [{ token: "sixteen-or-more-characters" }] } }],
      env: { SVC_TOKEN: "required" },
    },
    {
      bridge: { token: "required" },
      bridges: [{ token: "optional", rbac: { tokens: MASK } }],
      env: { SVC_TOKEN: MASK },
    },
  ],
])("masks %s as it should", (_what, value, expected) => {
  expect(maskConfig(value)).toEqual(expected);
});

it("reads a long string once", () => {
  // Reading it again from each character would exceed the test's time limit.
  maskConfig(["a.".repeat(500_000), `?${"a".repeat(1_000_000)}`, "?key".repeat(250_000)]);
  maskConfig({ webhook: ["a://".repeat(250_000), `a://${"@".repeat(1_000_000)}`, "a.".repeat(500_000)] });
});
