import { expect, it } from "vitest";
import { accessOfRole, manualClock } from "../testing/index.ts";
import { bind, cronEngine, history, pass, turns } from "./cron/testing/cron-engine.ts";
import { queue } from "./queue/index.ts";

it("a cron trigger with a queue puts its jobs there in the name of who bound it", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock, modules: [queue] });
  const guest = await engine.connectWorker({ access: accessOfRole("guest", ["engine::queue::enqueue"]) });
  guest.serve("guest::tick", () => null);
  await turns();
  await engine.call("queue::pause", { queue: "default" });
  await bind(engine, guest, { expression: "0 * * * * *", queue: "default" }, { id: "t", functionId: "guest::tick" });
  await pass(engine, clock, "t", 60_000, 10_000);
  expect(await engine.call("queue::peek", { queue: "default" })).toMatchObject({
    jobs: [{ function_id: "guest::tick", made_by: { principal: "role guest", role: "guest" } }],
  });
  await engine.stop();
});

it("a job of a cron trigger of a restricted connection does not run once a trusted worker provides its function", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock, modules: [queue] });
  const guest = await engine.connectWorker({ access: accessOfRole("guest", ["engine::queue::enqueue"]) });
  guest.serve("payments::charge", () => null);
  await turns();
  await engine.call("queue::pause", { queue: "default" });
  await bind(
    engine,
    guest,
    { expression: "0 * * * * *", queue: "default" },
    { id: "t", functionId: "payments::charge" },
  );
  await pass(engine, clock, "t", 60_000, 10_000);
  const owner = await engine.connectWorker();
  const ran: unknown[] = [];
  owner.serve("payments::charge", (data) => void ran.push(data));
  await turns();
  await engine.call("queue::resume", { queue: "default" });
  await expect.poll(() => engine.call("queue::stats", { queue: "default" })).toMatchObject({ dead: 1 });
  expect(ran).toEqual([]);
  await engine.stop();
});

it("a cron trigger of a restricted connection makes no job for a function that a trusted worker took while the condition ran, nor for one that is gone", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock, modules: [queue] });
  const guest = await engine.connectWorker({ access: accessOfRole("guest", ["engine::queue::enqueue"]) });
  const owner = await engine.connectWorker();
  const ran: unknown[] = [];
  guest.serve("payments::charge", () => null);
  guest.serve("guest::if", async () => {
    owner.serve("payments::charge", (data) => void ran.push(data));
    await turns();
    return true;
  });
  guest.serve("guest::gone", () => null);
  await turns();
  const expression = "0 * * * * *";
  await bind(
    engine,
    guest,
    { expression, queue: "default", condition_function_id: "guest::if" },
    { id: "taken", functionId: "payments::charge" },
  );
  await bind(engine, guest, { expression, queue: "default" }, { id: "gone", functionId: "guest::gone" });
  guest.say({ type: "unregisterfunction", id: "guest::gone" });
  await pass(engine, clock, "gone", 60_000, 10_000);
  expect(await history(engine, "gone")).toMatchObject([
    { outcome: "error", error: expect.stringContaining("FORBIDDEN") },
  ]);
  expect(engine.directory.functionById("payments::charge")?.workers).toMatchObject([{ id: owner.id }]);
  expect(await engine.call("queue::stats", { queue: "default" })).toMatchObject({ added: 0 });
  expect(ran).toEqual([]);
  await engine.stop();
});
