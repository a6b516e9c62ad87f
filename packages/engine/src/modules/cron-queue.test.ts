import { expect, it } from "vitest";
import { accessOfRole, manualClock } from "../testing/index.ts";
import { bind, cronEngine, pass, turns } from "./cron/testing/cron-engine.ts";
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
