import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { state } from "./index.ts";
import { stateEngine } from "./testing/state-engine.ts";

const START = Date.UTC(2026, 0, 1);
let clock: ManualClock;
let engine: InMemoryEngine;
beforeEach(async () => {
  clock = manualClock(START);
  engine = await stateEngine({ clock });
});
afterEach(() => engine.stop());

function call(name: string, input: Readonly<Record<string, unknown>>): Promise<unknown> {
  return engine.call(`state::${name}`, { scope: "s", key: "k", ...input });
}
/** Waits until due work is done. */
async function advance(ms: number): Promise<void> {
  clock.advance(ms);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("items with an end", () => {
  it("are visible until they expire, and then to no reader (gap 34)", async () => {
    await call("set", { value: 1, expires_in_ms: 1_000 });
    expect(await call("get_entry", {})).toMatchObject({ expires_at: new Date(START + 1_000).toISOString() });
    await advance(999);
    expect(await call("get", {})).toBe(1);
    await advance(1);
    expect(await call("get", {})).toBeNull();
    expect(await engine.call("state::list", { scope: "s" })).toEqual([]);
    expect(await engine.call("state::groups", {})).toMatchObject({ total: 0 });
  });

  it("take a version with their end, as a deletion does", async () => {
    await call("set", { value: 1, expires_in_ms: 1_000 });
    await advance(1_000);
    expect(await call("set", { value: 2, if_version: 0 })).toMatchObject({ old_value: null, version: 3 });
  });

  it("stay when they are set without an end, and keep it when they are updated without one", async () => {
    await call("set", { value: { n: 1 }, expires_in_ms: 1_000 });
    await call("update", { ops: [{ type: "increment", path: "n", by: 1 }] });
    expect(await call("get_entry", {})).toMatchObject({
      value: { n: 2 },
      expires_at: new Date(START + 1_000).toISOString(),
    });
    await call("update", { ops: [{ type: "increment", path: "n", by: 1 }], expires_in_ms: 5_000 });
    await advance(1_000);
    expect(await call("get", {})).toEqual({ n: 3 });
    await call("set", { value: { n: 4 } });
    await advance(10_000);
    expect(await call("get", {})).toEqual({ n: 4 });
  });

  it("are written by set_many too", async () => {
    await engine.call("state::set_many", {
      items: ["a", "b"].map((key) => ({ scope: "s", key, value: key, expires_in_ms: key === "a" ? 10 : 20 })),
    });
    await advance(10);
    expect(await engine.call("state::list", { scope: "s" })).toEqual(["b"]);
    await advance(30);
    expect(await engine.call("state::list", { scope: "s" })).toEqual([]);
  });

  it.each([0, -1, 1.5, 10 * 366 * 86_400_000, "1000"])("refuse an end in %j", async (expires_in_ms) => {
    await expect(call("set", { value: 1, expires_in_ms })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("`expires_in_ms`"),
    });
  });
});

describe("items with an end while the clock is set", () => {
  it.each([
    ["two hours back", -7_200_000],
    ["two hours on", 7_200_000],
  ])("%s: they last as long as was asked for, and show the end on the new clock", async (_, byMs) => {
    await call("set", { value: 1, expires_in_ms: 10_000 });
    await advance(4_000);
    clock.jumpTo(clock.now() + byMs);
    expect(await call("get_entry", {})).toMatchObject({ expires_at: new Date(START + 10_000 + byMs).toISOString() });
    await advance(5_999);
    expect(await call("get", {})).toBe(1);
    await advance(1);
    expect(await call("get", {})).toBeNull();
    expect(await engine.call("state::groups", {})).toMatchObject({ total: 0 });
  });
});

describe("items with an end over a restart after the clock was set", () => {
  it.each([
    ["back", -7_200_000],
    ["on", 7_200_000],
  ])("%s last as long as was asked for", async (_, byMs) => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-state-expiry-"));
    const start = (): Promise<InMemoryEngine> =>
      inMemoryEngine({ modules: [state], config: { "svc-state": {} }, dataDir, clock });
    const before = await start();
    await before.call("state::set", { scope: "s", key: "k", value: 1, expires_in_ms: 10_000 });
    clock.jumpTo(clock.now() + byMs);
    expect(await before.call("state::get", { scope: "s", key: "k" })).toBe(1);
    await before.stop();
    clock.advance(9_000);
    const after = await start();
    expect(await after.call("state::get", { scope: "s", key: "k" })).toBe(1);
    clock.advance(1_000);
    expect(await after.call("state::get", { scope: "s", key: "k" })).toBeNull();
    await after.stop();
    rmSync(dataDir, { recursive: true });
  });
});

describe("items whose end passes while the engine is down", () => {
  it("are deleted after a restart, and the deletion is delivered to the trigger that is registered again", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-state-expiry-"));
    const start = (): Promise<InMemoryEngine> =>
      inMemoryEngine({ modules: [state], config: { "svc-state": {} }, dataDir, clock });
    const before = await start();
    await before.call("state::set", { scope: "s", key: "k", value: "the last", expires_in_ms: 1_000 });
    await before.call("state::set", { scope: "s", key: "stays", value: 1 });
    await before.stop();

    clock.advance(5_000);
    const after = await start();
    expect(await after.call("state::list", { scope: "s" })).toEqual([1]);
    const worker = await after.connectWorker();
    const told = new Promise<unknown>((resolve) => worker.serve("on::deleted", resolve));
    worker.say({
      type: "registertrigger",
      id: crypto.randomUUID(),
      trigger_type: "state:deleted",
      function_id: "on::deleted",
      config: {},
    });
    await worker.next((frame) => frame.type === "triggerregistrationresult");
    clock.advance(0);
    expect(await told).toMatchObject({
      event_type: "state:deleted",
      key: "k",
      old_value: "the last",
      new_value: null,
      version: 2,
    });
    await after.stop();
    rmSync(dataDir, { recursive: true });
  });
});
