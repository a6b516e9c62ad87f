import { afterEach, beforeEach, expect, it } from "vitest";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, history, pass } from "./testing/cron-engine.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock();
  engine = await cronEngine({ clock });
});
afterEach(() => engine.stop());

it("a function that ran and failed with draining, handing on what a call of its own met, is not started again for that tick (T-1)", async () => {
  const worker = await engine.connectWorker();
  worker.say({ type: "registerfunction", id: "on::tick" });
  let starts = 0;
  const answer = async (): Promise<void> => {
    for (;;) {
      const { invocation_id, function_id } = await worker.next(
        (frame) => frame.type === "invokefunction" && frame.function_id === "on::tick",
      );
      starts += 1;
      const error = { code: "draining", message: "every worker that provides mail::send is shutting down" };
      worker.say({ type: "invocationresult", invocation_id, function_id, error });
    }
  };
  // Fails when the connection closes.
  answer().catch(() => {});
  await bind(engine, worker, { expression: "0 * * * * *", misfire: "all" }, { id: "t" });
  await pass(engine, clock, "t", 70_000);
  expect(starts).toBe(1);
  expect(await history(engine, "t")).toMatchObject([
    { outcome: "error", error: "draining: every worker that provides mail::send is shutting down" },
  ]);
});
