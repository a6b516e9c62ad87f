import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  accessTo,
  type InMemoryEngine,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../../testing/index.ts";
import { state } from "../index.ts";
import { bind, gate, listener, turns } from "./testing/listeners.ts";

let dataDir: string;
let clock: ManualClock;
let engine: InMemoryEngine;

async function start(): Promise<void> {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({ modules: [state], config: { "svc-state": {} }, clock, dataDir });
}
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-state-triggers-"));
  await start();
});
afterEach(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const set = (key: string, value: unknown): Promise<unknown> => engine.call("state::set", { scope: "s", key, value });

/** Stops the engine while a handler hangs in a delivery. */
async function restart(): Promise<void> {
  await stop();
  await start();
}

/** Running calls have 5 s. Only then is the store closed, which has its own timeouts. */
async function stop(): Promise<void> {
  const stopped = engine.stop();
  await turns(50);
  clock.advance(5_000);
  await stopped;
}

/** Writes three versions of a key whose handler never returns. */
async function leaveThree(): Promise<void> {
  const stuck = await listener(engine, "on::change", () => new Promise(() => {}));
  await bind(stuck.worker, "on::change");
  for (const value of [1, 2, 3]) await set("k", value);
  await stuck.count(1);
}

/** Advances the clock in steps and waits for the store in each, because its thread does not use the manual clock. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    await engine.call("state::list_groups", {});
  }
}

/** Resolves when the store has answered all earlier requests. */
async function storeAnswered(): Promise<void> {
  await engine.call("state::list_groups", {});
  await turns(50);
}

describe("state triggers after a restart", () => {
  it("go on with what was not served, before newer changes of the same item (gap 38)", async () => {
    await leaveThree();
    await restart();
    const changes = await listener(engine);
    await set("k", 4);
    await bind(changes.worker, "on::change");
    await set("k", 5);
    await changes.count(5);
    expect(changes.names()).toEqual(["created k@1", "updated k@2", "updated k@3", "updated k@4", "updated k@5"]);
  });

  it("deliver changes that were written before their worker was back, also if nothing was pending (gap 38)", async () => {
    const first = await listener(engine);
    await bind(first.worker, "on::change", { prefix: "k" });
    await set("k", 1);
    await first.count(1);
    await restart();
    await set("k", 2);
    await set("other", 1);
    const second = await listener(engine);
    await bind(second.worker, "on::change", { prefix: "k" });
    await second.count(1);
    await storeAnswered();
    expect(second.names()).toEqual(["updated k@2"]);
  });

  it("are discarded with their pending deliveries if not registered within 10 minutes, which is logged", async () => {
    await leaveThree();
    await restart();
    await set("k", 4);
    await pass(599_000);
    await storeAnswered();
    expect(engine.logs.filter(({ message }) => message.includes("discarded"))).toEqual([]);
    await pass(1_000);
    await storeAnswered();
    expect(
      engine.logs.find(({ message }) => message === "discarded deliveries of a state trigger")?.fields,
    ).toMatchObject({
      trigger: "on::change on any key in any scope",
      deliveries: 4,
      reason: "the trigger was not registered again within 10 minutes",
    });
    await set("k", 5);
    const changes = await listener(engine);
    await bind(changes.worker, "on::change");
    await set("k", 6);
    await changes.count(1);
    expect(changes.names()).toEqual(["updated k@6"]);
  });

  it("do not come back when they were taken back before", async () => {
    const open = gate();
    const changes = await listener(engine, "on::change", () => open.passed);
    await bind(changes.worker, "on::change", {}, { id: "mine" });
    await set("k", 1);
    await set("k", 2);
    await changes.count(1);
    changes.worker.say({ type: "unregistertrigger", id: "mine" });
    open.open();
    await storeAnswered();
    await restart();
    await set("k", 3);
    const again = await listener(engine);
    await bind(again.worker, "on::change");
    await set("k", 4);
    await again.count(1);
    await storeAnswered();
    expect(again.names()).toEqual(["updated k@4"]);
  });

  it("of a trusted worker lose nothing by a restricted connection that asks for an equal one and leaves; those of the connection alone end", async () => {
    const first = await listener(engine);
    await bind(first.worker, "on::change", { key: "trusted" });
    const access = accessTo(["on::change", "state::get"]);
    const before = await engine.connectWorker({ name: "guest", access });
    await bind(before, "on::change", { key: "guest" });
    await restart();
    const guest = await engine.connectWorker({ name: "guest", access });
    const keys = ["trusted", "guest"];
    for (const key of keys) await set(key, 1);
    for (const key of keys) await bind(guest, "on::change", { key });
    guest.close();
    await storeAnswered();
    await restart();
    for (const key of keys) await set(key, 2);
    const second = await listener(engine);
    for (const key of keys) await bind(second.worker, "on::change", { key });
    await set("guest", 3);
    await second.count(3);
    await storeAnswered();
    expect(second.names().sort()).toEqual(["created trusted@1", "updated guest@3", "updated trusted@2"]);
  });

  it("wait for the new store when the module is reconfigured while a worker stays connected", async () => {
    const open = gate();
    const changes = await listener(engine, "on::change", ({ event }) => (event.version === 1 ? open.passed : null));
    await bind(changes.worker, "on::change");
    for (const value of [1, 2, 3]) await set("k", value);
    await changes.count(1);
    const applied = engine.applyModules([
      { name: "svc-state", config: { adapter: { name: "file_based", config: { cache_bytes: 0 } } } },
    ]);
    await turns(50);
    open.open();
    expect(await applied).toEqual([]);
    await changes.count(3);
    await storeAnswered();
    expect(changes.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
  });

  it("are served when the list of the last run cannot be read; that is in the log", async () => {
    await leaveThree();
    await stop();
    writeFileSync(join(dataDir, "state-triggers.json"), "{ no json");
    await start();
    expect(
      engine.logs.some(({ level, message }) => level === "error" && message.startsWith("the list of state triggers")),
    ).toBe(true);
    const changes = await listener(engine);
    await bind(changes.worker, "on::change");
    await changes.count(3);
    expect(changes.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
  });
});
