import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../testing/index.ts";

const WARNING = "workers of different names provide the same function";

describe("a function that two workers register", () => {
  it("is reported in the log and to the second worker, with both names, if they are different workers", async () => {
    const engine = await inMemoryEngine();
    const shop = await engine.connectWorker({ name: "shop" });
    shop.say({ type: "registerfunction", id: "orders::show" });
    const legacy = await engine.connectWorker({ name: "legacy" });
    legacy.say({ type: "registerfunction", id: "orders::show" });
    const { error } = await legacy.next((frame) => frame.type === "error");
    expect(error).toMatchObject({
      code: "function_shared",
      message: expect.stringMatching(/worker shop provides function orders::show too.*legacy/),
      details: { message_type: "registerfunction", id: "orders::show", worker: "shop" },
    });
    expect(engine.logs.filter(({ message }) => message === WARNING)).toMatchObject([
      { level: "warn", fields: { functionId: "orders::show", worker: "legacy", otherWorker: "shop" } },
    ]);
    await engine.stop();
  });

  it("is not reported to published clients", async () => {
    const engine = await inMemoryEngine();
    for (const name of ["shop", "legacy"]) {
      const worker = await engine.connectWorker({ name, features: [] });
      worker.say({ type: "registerfunction", id: "orders::show" });
      worker.say({ type: "ping" });
      expect(await worker.next((frame) => frame.type === "pong" || frame.type === "error")).toMatchObject({
        type: "pong",
      });
    }
    expect(engine.logs.filter(({ message }) => message === WARNING)).toEqual([]);
    await engine.stop();
  });

  it("is not reported for replicas, and not when a worker registers it again", async () => {
    const engine = await inMemoryEngine();
    for (const name of ["shop", "shop"]) {
      const worker = await engine.connectWorker({ name });
      worker.say({ type: "registerfunction", id: "orders::show" });
      worker.say({ type: "registerfunction", id: "orders::show" });
      worker.say({ type: "ping" });
      expect(await worker.next((frame) => frame.type === "pong" || frame.type === "error")).toMatchObject({
        type: "pong",
      });
    }
    expect(engine.logs.filter(({ message }) => message === WARNING)).toEqual([]);
    await engine.stop();
  });
});
