import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine, type ManualClock, manualClock } from "../../../testing/index.ts";
import { state } from "../index.ts";
import { bind, type Listener, listener, turns } from "./testing/listeners.ts";

let dataDir: string;
let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-state-unclear-"));
  clock = manualClock();
  engine = await inMemoryEngine({ modules: [state], config: { "svc-state": {} }, clock, dataDir });
});
afterEach(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Makes a write that times out while the store's thread is running it. */
async function unclear(functionId: string, input: object): Promise<void> {
  // Wait until the store is idle, so that the write is sent at once.
  await recorded();
  const write = engine.call(functionId, input, { timeoutMs: 600_000 });
  const refused = expect(write).rejects.toMatchObject({ code: "call_timeout", details: { outcome: "unknown" } });
  // After these turns the store has the request and sends it at the end of this turn. No message arrives before the next
  // turn, so the timeout comes before the answer.
  for (let hops = 0; hops < 200; hops++) await Promise.resolve();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  clock.advance(30_000);
  await refused;
}

/** Creates a trigger that has caught up: its next deliveries come from memory. */
async function watching(): Promise<Listener> {
  const changes = await listener(engine);
  await bind(changes.worker, "on::change");
  await engine.call("state::set", { scope: "s", key: "k", value: 1 });
  await changes.count(1);
  await recorded();
  return changes;
}

/** Waits until deliveries are acknowledged, so that no request can time out when the clock is advanced. */
async function recorded(): Promise<void> {
  for (let reads = 0; reads < 5; reads++) {
    await turns();
    await engine.call("state::list_groups", {});
  }
}

describe("state triggers after a write whose outcome is unclear", () => {
  it.each([
    ["state::set", { scope: "s", key: "k", value: 2 }, "updated"],
    ["state::update", { scope: "s", key: "k", ops: [{ type: "increment", path: "", by: 1 }] }, "updated"],
    ["state::delete", { scope: "s", key: "k" }, "deleted"],
    ["state::set_many", { items: [{ scope: "s", key: "k", value: 2 }] }, "updated"],
    ["state::delete_many", { scope: "s", keys: ["k"] }, "deleted"],
  ])("find what it stored, without a restart: %s (gap 38)", async (functionId, input, kind) => {
    const changes = await watching();
    await unclear(functionId, input);
    await changes.count(2);
    expect(changes.names()).toEqual(["created k@1", `${kind} k@2`]);
  });

  it("serve it before newer changes of the same item (gap 38)", async () => {
    const changes = await watching();
    await unclear("state::set", { scope: "s", key: "k", value: 2 });
    await engine.call("state::set", { scope: "s", key: "k", value: 3 });
    await changes.count(3);
    expect(changes.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
  });

  it("are notified of the expiry of an item whose expiry time the write may have set", async () => {
    const changes = await watching();
    await unclear("state::set", { scope: "s", key: "other", value: 1, expires_in_ms: 60_000 });
    await changes.count(2);
    await recorded();
    clock.advance(30_000);
    await changes.count(3);
    expect(changes.names().slice(1)).toEqual(["created other@1", "deleted other@2"]);
  });
});
