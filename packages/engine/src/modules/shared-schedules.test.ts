import { expect, it } from "vitest";
import { accessOfRole, manualClock } from "../testing/index.ts";
import { cronEngine, pass, turns } from "./cron/testing/cron-engine.ts";
import { queue } from "./queue/index.ts";

async function bound(
  worker: Awaited<ReturnType<Awaited<ReturnType<typeof cronEngine>>["connectWorker"]>>,
  id: string,
  config: unknown,
  metadata?: unknown,
) {
  worker.say({ type: "registertrigger", id, trigger_type: "cron", function_id: "report::send", config, metadata });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  expect(answer.error ?? null).toBeNull();
  await turns();
}

it("a tick has the metadata of the trusted binding, also if a restricted one has the same schedule in other words", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock });
  const owner = await engine.connectWorker({ name: "owner" });
  const received: unknown[] = [];
  owner.serve("report::send", (_data, frame) => void received.push(frame.metadata));
  await turns();
  const guest = await engine.connectWorker({ access: accessOfRole("guest", ["report::send"]) });
  await bound(guest, "g", { expression: "0 * * * * *", timezone: "UTC" }, { to: "guest@example.com" });
  await bound(owner, "o", { expression: "0 * * * * *" }, { to: "boss@example.com" });
  await pass(engine, clock, "o", 60_000, 10_000);
  expect(received).toEqual([{ to: "boss@example.com" }]);
  await engine.stop();
});

it("a job that a trusted binding puts on a queue is a trusted one, also if a restricted binding has the same schedule", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock, modules: [queue] });
  const owner = await engine.connectWorker({ name: "owner" });
  owner.serve("report::send", () => null);
  await turns();
  await engine.call("queue::pause", { queue: "default" });
  const guest = await engine.connectWorker({
    access: accessOfRole("guest", ["report::send", "engine::queue::enqueue"]),
  });
  await bound(guest, "g", { expression: "0 * * * * *", queue: "default", timezone: "UTC" });
  await bound(owner, "o", { expression: "0 * * * * *", queue: "default" });
  await pass(engine, clock, "o", 60_000, 10_000);
  expect(await engine.call("queue::peek", { queue: "default" })).toMatchObject({
    jobs: [{ function_id: "report::send", made_by: null }],
  });
  await engine.stop();
});

it("a pattern does not let a role pause or resume the trigger of a trusted worker", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await cronEngine({ clock });
  const owner = await engine.connectWorker({ name: "owner" });
  owner.serve("report::send", () => null);
  await turns();
  await bound(owner, "o", { expression: "0 * * * * *" });
  const guest = await engine.connectWorker({ access: accessOfRole("guest", ["cron::*", "report::send"]) });
  for (const id of ["cron::pause", "cron::resume"])
    expect(await guest.call(id, { trigger_id: "o" })).toMatchObject({ error: { code: "FORBIDDEN" } });
  await engine.stop();
});
