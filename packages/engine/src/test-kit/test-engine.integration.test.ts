import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ConfigError } from "../config/index.ts";
import { manualClock, startTestEngine, type TestEngine, type TestEngineOptions } from "./index.ts";

const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function start(options?: TestEngineOptions): Promise<TestEngine> {
  const engine = await startTestEngine(options);
  undo.push(() => engine.stop());
  return engine;
}

/** Calls a function like any HTTP client. */
async function call(engine: TestEngine, functionId: string, payload: unknown): Promise<unknown> {
  const response = await fetch(`${engine.httpUrl}/_console/invoke`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ function_id: functionId, payload }),
  });
  return response.json();
}

describe("a test engine", () => {
  it("is a real one on ports of its own, and leaves nothing behind", async () => {
    const engine = await startTestEngine({ modules: ["svc-http", "svc-state"] });
    const { folder, url, httpUrl, streamsUrl } = engine;
    expect(new Set([url, httpUrl, streamsUrl].map((address) => new URL(address).port)).size).toBe(3);
    await call(engine, "state::set", { scope: "s", key: "k", value: 1 });
    expect(await call(engine, "state::get", { scope: "s", key: "k" })).toBe(1);
    expect(engine.logs.map(({ message }) => message)).toContain("the engine is up");
    await Promise.all([engine.stop(), engine.stop()]);
    expect(existsSync(folder)).toBe(false);
    await expect(fetch(httpUrl)).rejects.toThrow();
  });

  it("keeps apart from every other one", async () => {
    const engines = await Promise.all(Array.from({ length: 4 }, () => start({ modules: ["svc-state"] })));
    await Promise.all(
      engines.map((engine, number) => call(engine, "state::set", { scope: "s", key: "k", value: number })),
    );
    expect(await Promise.all(engines.map((engine) => call(engine, "state::get", { scope: "s", key: "k" })))).toEqual([
      0, 1, 2, 3,
    ]);
  });

  it("keeps data in memory unless its config names an adapter, and a folder that it was given", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-test-kit-"));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const options = { folder, modules: ["svc-state"], config: { "svc-state": { adapter: { name: "file_based" } } } };
    const first = await startTestEngine(options);
    await call(first, "state::set", { scope: "s", key: "k", value: "kept" });
    await first.stop();
    const second = await start(options);
    expect(await call(second, "state::get", { scope: "s", key: "k" })).toBe("kept");
    const inMemory = await start({ modules: ["svc-state", "svc-queue"] });
    expect(readdirSync(join(inMemory.folder, ".svc/data")).filter((name) => name.includes(".db"))).toEqual([]);
  });

  it("says what is wrong with a config, and leaves nothing behind", async () => {
    const [before, own] = [process.env.TMPDIR, await mkdtemp(join(tmpdir(), "svc-test-kit-"))];
    process.env.TMPDIR = own;
    undo.push(async () => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      await rm(own, { recursive: true });
    });
    await expect(startTestEngine({ modules: ["svc-sate"] })).rejects.toThrow(ConfigError);
    await expect(
      startTestEngine({ modules: ["svc-state"], config: { "svc-state": { adapter: { name: "paper" } } } }),
    ).rejects.toThrow("adapter");
    await expect(startTestEngine({ clock: { now: () => 0, advance: async () => {} } })).rejects.toThrow(
      "manualClock()",
    );
    expect(readdirSync(own)).toEqual([]);
  });

  it.each([
    [{ module: ["svc-state"] }, "no option module; there are modules"],
    [{ config: { "svc-state": {} } }, "not loaded: svc-state"],
    [{ modules: ["svc-http"], config: { "svc-htpp": {}, engine: {} } }, "not loaded: svc-htpp"],
    [{ modules: "svc-http" }, "must be a list"],
  ])("refuses %j, which would do nothing", async (options, reason) => {
    const started = startTestEngine(options as TestEngineOptions);
    undo.push(() => started.then((engine) => engine.stop()).catch(() => {}));
    await expect(started).rejects.toThrow(reason);
    await expect(started).rejects.toThrow(TypeError);
  });

  it("reads variables only from the environment that it is given", async () => {
    process.env.SVC_TEST_KIT = "the process's";
    undo.push(() => delete process.env.SVC_TEST_KIT);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config
    const config = { "svc-http": { host: "${SVC_TEST_KIT:127.0.0.1}" } };
    await start({ modules: ["svc-http"], config });
    await expect(
      startTestEngine({ modules: ["svc-http"], config, env: { SVC_TEST_KIT: "not a host" } }),
    ).rejects.toThrow("host");
  });

  it("goes by a clock that a test moves: state ends when its time has come, and not before (gap 76)", async () => {
    const clock = manualClock();
    const engine = await start({ modules: ["svc-state"], clock });
    const item = { scope: "sessions", key: "ann" };
    await call(engine, "state::set", { ...item, value: { user: 1 }, expires_in_ms: 3_600_000 });
    expect(await call(engine, "state::get_entry", item)).toMatchObject({
      updated_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2026-01-01T01:00:00.000Z",
    });
    await clock.advance(3_599_999);
    expect(await call(engine, "state::get", item)).toEqual({ user: 1 });
    await clock.advance(1);
    expect(await call(engine, "state::get", item)).toBeNull();
  });
});
