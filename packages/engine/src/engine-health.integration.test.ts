import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type RunningEngine, startEngine } from "./engine.ts";
import { startRedisServer } from "./items/testing/redis-server.ts";
import { createLogger } from "./kernel/logger.ts";

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const patience = { timeout: 20_000, interval: 50 };

interface Started {
  readonly engine: RunningEngine;
  readonly lines: readonly string[];
  readonly token: string;
  /** With or without the engine's token. */
  ready(token?: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
  call(
    functionId: string,
    payload: unknown,
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
  check(): Promise<{ readonly status: string; readonly components: Readonly<Record<string, Record<string, unknown>>> }>;
}

async function start(workers: string): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), "svc-engine-health-"));
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  const configFile = join(dir, "config.yaml");
  writeFileSync(
    configFile,
    `workers:\n  - name: svc-http\n    config: {port: 0}\n${workers}engine:\n  bridge: {port: 0}\n`,
  );
  const lines: string[] = [];
  const logger = createLogger({
    level: "info",
    now: () => Date.now(),
    write: ({ level, message }) => lines.push(`${level} ${message}`),
  });
  const engine = await startEngine({ configFile, logger, env: {}, overrides: { bridgePort: 0, realtimePort: 0 } });
  cleanUps.push(() => engine.stop({ graceMs: 0 }));
  const call: Started["call"] = async (functionId, payload) => {
    const response = await fetch(`${engine.addresses.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id: functionId, payload }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    engine,
    lines,
    token: readFileSync(join(dir, ".svc", "token"), "utf8").trim(),
    async ready(token) {
      const response = await fetch(
        `${engine.addresses.http}/readyz`,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      );
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    call,
    check: async () =>
      (await call("engine::health::check", {})).body as unknown as Awaited<ReturnType<Started["check"]>>,
  };
}

describe("the health of an engine", () => {
  it("shows its parts, those that modules report among them (gap 48)", async () => {
    const { check, ready } = await start("  - name: svc-queue\n  - name: svc-state\n");
    const { components } = await check();
    expect(components).toMatchObject({
      store: { status: "healthy" },
      queues: { status: "healthy" },
      adapters: { status: "disabled" },
    });
    expect((await ready()).status).toBe(200);
  });

  it("acknowledges nothing and is not ready once its data folder was moved away, and works again once it is back", async () => {
    const { engine, ready, call } = await start("  - name: svc-state\n");
    const set = (key: string) => call("state::set", { scope: "s", key, value: 1 });
    expect((await set("before")).status).toBe(200);
    const { dataDir } = engine.config.engine;
    renameSync(dataDir, `${dataDir}.moved`);
    expect(await set("lost")).toMatchObject({ status: 503, body: { error: { code: "storage_failed" } } });
    expect((await ready()).status).toBe(503);
    renameSync(`${dataDir}.moved`, dataDir);
    await vi.waitFor(async () => expect((await ready()).status).toBe(200), patience);
    expect((await set("after")).status).toBe(200);
  });

  it("is not ready within seconds after its data folder was moved away, also if nobody writes", async () => {
    const { engine, ready } = await start("  - name: svc-queue\n");
    renameSync(engine.config.engine.dataDir, `${engine.config.engine.dataDir}.moved`);
    await vi.waitFor(async () => expect((await ready()).status).toBe(503), patience);
  });

  it("names the Redis server that is gone, in /readyz and engine::health::check, and is well once it is back (gap 48)", {
    timeout: 60_000,
  }, async () => {
    const redis = await startRedisServer();
    cleanUps.push(() => redis.stop());
    const { engine, check, ready, lines, token } = await start(
      `  - name: svc-state\n    config: {adapter: {name: redis, config: {redis_url: "${redis.url}"}}}\n`,
    );
    expect((await ready()).status).toBe(200);
    await redis.kill();
    await vi.waitFor(async () => expect((await ready()).status).toBe(503), patience);
    // On a busy machine the event loop may be degraded as well.
    expect((await ready()).body).toEqual({
      status: "not_ready",
      reasons: ["adapters: unhealthy"],
      components: expect.arrayContaining([{ component: "adapters", status: "unhealthy" }]),
    });
    expect((await ready(token)).body).toMatchObject({
      status: "not_ready",
      reasons: [expect.stringMatching(new RegExp(`^adapters: svc-state: .*${redis.port}`))],
      components: expect.arrayContaining([
        expect.objectContaining({ component: "adapters", status: "unhealthy", since_ms: expect.any(Number) }),
      ]),
    });
    expect(await check()).toMatchObject({
      status: "unhealthy",
      components: { adapters: { status: "unhealthy" }, store: { status: "disabled" } },
    });
    expect((await fetch(`${engine.addresses.http}/healthz`)).status).toBe(200);
    await redis.restart();
    await vi.waitFor(async () => expect((await ready()).status).toBe(200), patience);
    expect(lines).toContain("error a component is unhealthy");
    expect(lines).toContain("info a component is healthy again");
  });
});
