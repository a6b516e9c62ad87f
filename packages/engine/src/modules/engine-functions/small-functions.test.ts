import { MASK } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../../testing/index.ts";
import type { EffectiveConfig } from "./effective-config.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

const INFO = { version: "0.0.0" } as EngineInfo;

describe("engine::baggage::*", () => {
  it("read what came with the call", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO)] });
    const worker = await engine.connectWorker();
    const baggage = "user=ada%20l;ttl=1, team=till,broken,__proto__=x,bad=%zz";
    const call = async (name: string, input: object): Promise<unknown> =>
      (await worker.call(`engine::baggage::${name}`, input, { baggage })).result;
    expect(await call("get", { key: "user" })).toEqual({ value: "ada l" });
    expect(await call("get", { key: "toString" })).toEqual({ value: null });
    expect(await call("get_all", {})).toEqual({
      baggage: JSON.parse('{"user":"ada l","team":"till","__proto__":"x","bad":"%zz"}'),
    });
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
              value: {
                name: "redis",
                config: { url: "redis://ada:hunter2@db:6379/0?password=hunter2&x=1", api_key: "hunter2" },
              },
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
      workers: [
        {
          name: "w",
          path: "/p/w",
          replicas: 1,
          watch: true,
          where: "config.yaml:9",
          env: { DB_PASSWORD: "hunter2", MODE: "dev" },
        },
      ],
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
            {
              key: "adapter",
              value: {
                name: "redis",
                config: { url: `redis://${MASK}@db:6379/0?password=${MASK}&x=1`, api_key: MASK },
              },
              source: "file",
            },
          ],
        },
        { ...config.modules[1], settings: [{ key: "headers", value: { "x-honeycomb-team": MASK }, source: "file" }] },
      ],
      workers: [{ ...config.workers[0], env: { DB_PASSWORD: MASK, MODE: "dev" } }],
    });
  });
});
