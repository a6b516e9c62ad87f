import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../testing/index.ts";

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;

describe("the error of a worker's handler says that the function ran", () => {
  it.each([
    ["with the code of an error that a call within it had", { code: "draining", message: "m", details: {} }, "yes"],
    ["with a code whose errors are unknown", { code: "call_timeout", message: "m", details: { a: 1 } }, "yes"],
    ["unless the handler says otherwise", { code: "queue_full", message: "m", details: { executed: "no" } }, "no"],
  ])("%s", async (_what, error, executed) => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    const answer = caller.call("f");
    const { invocation_id } = await callee.next((frame) => frame.type === "invokefunction");
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", error });
    expect(errorOf(await answer)).toMatchObject({ ...error, details: { ...error.details, executed } });
  });

  it("if its answer cannot be read", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    const answer = caller.call("f");
    const { invocation_id } = await callee.next((frame) => frame.type === "invokefunction");
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", error: 5 });
    expect(errorOf(await answer)).toMatchObject({ code: "invalid_message", details: { executed: "yes" } });
  });
});

it("enqueueing has an unknown outcome if the queue ends before it answers", async () => {
  const engine = await inMemoryEngine();
  const queue = await engine.connectWorker();
  const caller = await engine.connectWorker();
  queue.say({ type: "registerfunction", id: "engine::queue::enqueue" });
  const answer = caller.call("f", 1, { action: { type: "enqueue", queue: "jobs" } });
  await queue.next((frame) => frame.type === "invokefunction");
  queue.close();
  expect(errorOf(await answer)).toMatchObject({ code: "enqueue_error", details: { executed: "unknown" } });
});
