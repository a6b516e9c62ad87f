import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../../testing/index.ts";
import { type EffectiveConfig, MASK, maskSecrets } from "./effective-config.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

const INFO = { version: "0.0.0" } as EngineInfo;

describe("engine::baggage::*", () => {
  it("read what came with the call", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO)] });
    const worker = await engine.connectWorker();
    const baggage = "user=ada%20l;ttl=1, team=till,broken,__proto__=x,bad=%zz";
    const call = async (name: string, input: object): Promise<unknown> => (await worker.call(`engine::baggage::${name}`, input, { baggage })).result;
    expect(await call("get", { key: "user" })).toEqual({ value: "ada l" });
    expect(await call("get", { key: "toString" })).toEqual({ value: null });
    expect(await call("get_all", {})).toEqual({ baggage: JSON.parse('{"user":"ada l","team":"till","__proto__":"x","bad":"%zz"}') });
    expect(await call("set", { key: "a", value: "b" })).toMatchObject({ success: true });
    expect((await worker.call("engine::baggage::get_all", {})).result).toEqual({ baggage: {} });
  });
});

describe("engine::config::effective", () => {
  it("shows every setting with its source, and no secret", async () => {
    const config: EffectiveConfig = {
      file: "/p/config.yaml",
      settings: [
        { key: "engine.bridge.port", value: 49_134, source: "default" },
        { key: "engine.token", value: "hunter2", source: "env" },
      ],
      modules: [
        {
          name: "svc-state",
          instance: "svc-state",
          where: "config.yaml:3",
          settings: [
            {
              key: "adapter",
              value: { name: "redis", config: { url: "redis://ada:hunter2@db:6379/0?password=hunter2&x=1", api_key: "hunter2" } },
              source: "file",
            },
          ],
        },
        {
          name: "svc-observability",
          instance: "svc-observability",
          where: "config.yaml:6",
          settings: [{ key: "headers", value: { "x-honeycomb-team": "hunter2" }, source: "file" }],
        },
      ],
      workers: [{ name: "w", path: "/p/w", replicas: 1, watch: true, where: "config.yaml:9", env: { DB_PASSWORD: "hunter2", MODE: "dev" } }],
      warnings: [],
    };
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO, { config: () => config })] });
    const shown = await engine.call("engine::config::effective");
    expect(JSON.stringify(shown)).not.toContain("hunter2");
    expect(shown).toEqual({
      ...config,
      settings: [config.settings[0], { key: "engine.token", value: MASK, source: "env" }],
      modules: [
        {
          ...config.modules[0],
          settings: [
            { key: "adapter", value: { name: "redis", config: { url: `redis://${MASK}@db:6379/0?password=${MASK}&x=1`, api_key: MASK } }, source: "file" },
          ],
        },
        { ...config.modules[1], settings: [{ key: "headers", value: { "x-honeycomb-team": MASK }, source: "file" }] },
      ],
      workers: [{ ...config.workers[0], env: { DB_PASSWORD: MASK, MODE: "dev" } }],
    });
  });

  it.each([
    ["an address without credentials", "http://localhost:3111/a?b=c", "http://localhost:3111/a?b=c"],
    ["a user alone", "redis://ada@db", `redis://${MASK}@db`],
    ["several addresses", ["nats://a:b@x", "nats://y"], [`nats://${MASK}@x`, "nats://y"]],
    ["a list below a secret's name", { tokens: ["a", "b"] }, { tokens: MASK }],
    ["headers, whatever they are called", { headers: { "x-honeycomb-team": "hunter2", Host: "a" } }, { headers: { "x-honeycomb-team": MASK, Host: MASK } }],
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
    ["a name that every object has", JSON.parse('{"__proto__":{"secret":"s"}}'), JSON.parse(`{"__proto__":{"secret":"${MASK}"}}`)],
    [
      "what a listener says about tokens",
      {
        bridge: { token: "required" },
        bridges: [{ token: "optional", rbac: { tokens: [{ token: "sixteen-or-more-characters" }] } }],
        env: { SVC_TOKEN: "required" },
      },
      { bridge: { token: "required" }, bridges: [{ token: "optional", rbac: { tokens: MASK } }], env: { SVC_TOKEN: MASK } },
    ],
  ])("masks %s as it should", (_what, value, expected) => {
    expect(maskSecrets(value)).toEqual(expected);
  });

  it("reads a long text once", () => {
    // Reading it again from each character takes longer than the time-out of a test.
    maskSecrets(["a.".repeat(500_000), `?${"a".repeat(1_000_000)}`, "?key".repeat(250_000)]);
    maskSecrets({ webhook: ["a://".repeat(250_000), `a://${"@".repeat(1_000_000)}`, "a.".repeat(500_000)] });
  });
});
