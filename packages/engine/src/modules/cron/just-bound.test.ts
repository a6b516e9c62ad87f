import { afterEach, beforeEach, expect, it } from "vitest";
import { type InMemoryEngine, type InMemoryWorker, manualClock } from "../../testing/index.ts";
import { cronEngine, ticking } from "./testing/cron-engine.ts";

let engine: InMemoryEngine;
let worker: InMemoryWorker;

beforeEach(async () => {
  engine = await cronEngine({ clock: manualClock(Date.UTC(2026, 0, 1)) });
  ({ worker } = await ticking(engine));
});
afterEach(() => engine.stop());

/** Resolves with the registration's result only. */
async function bindOnly(): Promise<void> {
  worker.say({
    type: "registertrigger",
    id: "t",
    trigger_type: "cron",
    function_id: "on::tick",
    config: { expression: "@daily" },
  });
  await worker.next((frame) => frame.type === "triggerregistrationresult");
}

it("runs a trigger whose registration has just been answered", async () => {
  await bindOnly();
  expect(await engine.call("cron::trigger_now", { trigger_id: "t" })).toMatchObject({ outcome: "ok" });
});

it("pauses a trigger whose registration has just been answered", async () => {
  await bindOnly();
  expect(await engine.call("cron::pause", { trigger_id: "t" })).toMatchObject({ status: "paused" });
  expect(await engine.call("cron::list", {})).toMatchObject({ triggers: [{ status: "paused", next_runs: [] }] });
});
