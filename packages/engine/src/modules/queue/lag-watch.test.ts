import { afterEach, describe, expect, it } from "vitest";
import type { ComponentReport } from "../../kernel/health-contract.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A queue that runs one job at a time, with a worker that completes its jobs on request. */
async function busyQueue() {
  const made = await moduleEngine({ queues: { orders: { concurrency: 1 } } });
  cleanUps.push(() => made.stop());
  const worker = await made.engine.connectWorker();
  const finish: (() => void)[] = [];
  cleanUps.push(async () => {
    for (const one of finish) one();
  });
  worker.serve("orders::take", () => new Promise<void>((resolve) => finish.push(resolve)));
  await made.until("the function", () => made.engine.directory.functionById("orders::take") !== undefined);
  const add = (functionId: string) =>
    made.call("queue::enqueue", { queue: "orders", function_id: functionId, data: 1 });
  return { ...made, finish, add };
}

const health = ({ engine }: ModuleEngine): ComponentReport | undefined =>
  engine.kernel.health.read().find(({ component }) => component === "queues");

/** Each check calls the store, which responds in a later turn. */
async function look(made: ModuleEngine): Promise<void> {
  made.clock.advance(10_000);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("the health of queues", () => {
  it("is degraded while a job waits for more than a minute although its worker is there, and names the queue (gap 48)", async () => {
    const made = await busyQueue();
    await made.add("orders::take");
    await made.until("the first job runs", () => made.finish.length === 1);
    await made.add("orders::take");
    await look(made);
    expect(health(made)).toMatchObject({ status: "healthy" });
    for (let ms = 0; ms < 60_000; ms += 10_000) await look(made);
    expect(health(made)).toMatchObject({
      status: "degraded",
      details: expect.stringMatching(/svc-queue: .* queue orders \(7\d s\).*raise concurrency/),
    });
    made.finish[0]?.();
    await made.until("the second job runs", () => made.finish.length === 2);
    await look(made);
    expect(health(made)).toMatchObject({ status: "healthy" });
  });

  it("does not suffer from jobs whose worker is away, nor from a paused queue", async () => {
    const made = await busyQueue();
    await made.add("nobody::there");
    await made.call("queue::pause", { queue: "orders" });
    await made.add("orders::take");
    for (let ms = 0; ms < 120_000; ms += 10_000) await look(made);
    expect(health(made)).toMatchObject({ status: "healthy" });
  });

  it.each([
    ["two hours on", 7_200_000],
    ["two hours back", -7_200_000],
  ])("counts the time that a job waits, although the clock was set %s", async (_, byMs) => {
    const made = await busyQueue();
    await made.add("orders::take");
    await made.until("the first job runs", () => made.finish.length === 1);
    await made.add("orders::take");
    await look(made);
    made.clock.jumpTo(made.clock.now() + byMs);
    await look(made);
    await made.add("orders::take");
    await look(made);
    expect(health(made)).toMatchObject({ status: "healthy" });
    for (let ms = 0; ms < 70_000; ms += 10_000) await look(made);
    expect(health(made)).toMatchObject({ status: "degraded" });
    for (const worked of [1, 2]) {
      made.finish[worked - 1]?.();
      await made.until("the next job runs", () => made.finish.length === worked + 1);
    }
    await look(made);
    await made.add("orders::take");
    await look(made);
    expect(health(made)).toMatchObject({ status: "healthy" });
  });
});
