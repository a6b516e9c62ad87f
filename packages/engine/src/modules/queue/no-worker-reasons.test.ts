import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { accessOfRole } from "../../testing/index.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";

let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(): Promise<ModuleEngine> {
  running = await moduleEngine();
  return running;
}

const reasonsIn = async ({ call }: ModuleEngine): Promise<unknown[]> => {
  const { jobs } = await call<{ jobs: { reason: unknown }[] }>("queue::peek", { queue: "default" });
  return jobs.map(({ reason }) => reason);
};

describe("a job that no worker can run", () => {
  it("says why, in listings of its queue too, until its function is provided", async () => {
    const own = await start();
    const worker = await own.engine.connectWorker();
    worker.serve("mail::send", () => null);
    await own.until("it is there", () => own.engine.directory.functionById("mail::send") !== undefined);
    await own.call("queue::enqueue", { queue: "default", function_id: "mail::snd" });
    const reason = "no connected worker provides the function mail::snd; did you mean mail::send?";
    expect(await reasonsIn(own)).toEqual([reason]);
    expect(await own.call("queue::stats", { queue: "default" })).toMatchObject({ waiting_reasons: [reason] });
    expect(await own.call("queue::list")).toMatchObject({ queues: [{ waiting_reasons: [reason] }] });
    worker.serve("mail::snd", () => null);
    await own.until("it ran", async () => (await own.call("queue::stats", { queue: "default" })).done === 1);
    expect(await own.call("queue::stats", { queue: "default" })).toMatchObject({ waiting_reasons: [] });
  });

  it("names to a restricted caller no function of others", async () => {
    const own = await start();
    (await own.engine.connectWorker()).serve("secret::send", () => null);
    await own.until("it is there", () => own.engine.directory.functionById("secret::send") !== undefined);
    await own.call("queue::enqueue", { queue: "default", function_id: "secret::snd" });
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", ["queue::peek"]) });
    const { result } = await guest.call("queue::peek", { queue: "default" });
    expect(result).toMatchObject({ jobs: [{ reason: "no connected worker provides the function secret::snd" }] });
  });

  it("names to a restricted caller that sees only counts no function of a job", async () => {
    const own = await start();
    await own.call("queue::enqueue", { queue: "default", function_id: "secret::run" });
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", ["queue::stats", "queue::list"]) });
    const waiting_reasons = ["no worker can run some of these jobs now"];
    expect(await guest.call("queue::stats", { queue: "default" })).toMatchObject({ result: { waiting_reasons } });
    expect(await guest.call("queue::list")).toMatchObject({ result: { queues: [{ waiting_reasons }] } });
  });

  it("waits for a trigger if it names no function", async () => {
    const own = await start();
    await own.call("queue::enqueue", { queue: "default" });
    expect(await reasonsIn(own)).toEqual(["no trigger of queue default runs jobs that name no function"]);
  });

  it("names to a restricted caller no function of a trigger, nor its condition", async () => {
    const own = await start();
    await own.call("queue::enqueue", { queue: "default" });
    const worker = await own.engine.connectWorker();
    const config = { queue: "default", condition_function_id: "secret::check" };
    worker.say({
      type: "registertrigger",
      id: randomUUID(),
      trigger_type: "queue",
      function_id: "secret::run",
      config,
    });
    const named = "no connected worker provides the function secret::run or secret::check";
    await own.until("the trigger is there", async () => (await reasonsIn(own))[0] === named);
    const allowed = ["queue::peek", "queue::stats", "queue::list"];
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", allowed) });
    const reason = "no trigger of queue default can run jobs that name no function now";
    const asked = { queue: "default" };
    expect(await guest.call("queue::peek", asked)).toMatchObject({ result: { jobs: [{ reason }] } });
    expect(await guest.call("queue::stats", asked)).toMatchObject({ result: { waiting_reasons: [reason] } });
    expect(await guest.call("queue::list")).toMatchObject({ result: { queues: [{ waiting_reasons: [reason] }] } });
  });

  it("is reported in the log once it has waited for 10 s, once per reason", async () => {
    const own = await start();
    const warnings = (): unknown[] =>
      own.engine.logs
        .filter(({ message }) => message === "jobs wait because no worker can run them")
        .map(({ level, fields }) => ({ level, ...fields }));
    const check = async (): Promise<void> => {
      own.clock.advance(10_000);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    await check();
    await own.call("queue::enqueue", { queue: "default", function_id: "late" });
    expect(warnings()).toEqual([]);
    await check();
    await check();
    const warning = { level: "warn", queue: "default", reasons: ["no connected worker provides the function late"] };
    expect(warnings()).toMatchObject([warning]);
    await own.call("queue::enqueue", { queue: "default", function_id: "later" });
    await check();
    await check();
    expect(warnings()).toMatchObject([
      warning,
      { ...warning, reasons: ["no connected worker provides the function later"] },
    ]);
  });
});
