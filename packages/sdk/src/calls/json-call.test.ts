import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect, type Worker } from "../node.ts";

describe("a call with JSON text", () => {
  let engine: FakeEngine;
  let worker: Worker;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    worker = connect(engine.address, { name: "probe", logger: silentLogger, handleSignals: false });
  });

  afterEach(async () => {
    await worker.shutdown({ timeoutMs: 1 });
    await engine.stop();
  });

  const answered = async (result: string): Promise<void> => {
    const { invocation_id } = await engine.frame({ type: "invokefunction", function_id: "math::add" });
    engine.send(
      `{${result}"type":"invocationresult","invocation_id":"${String(invocation_id)}","function_id":"math::add"}`,
    );
  };

  it("returns the text of the result with every digit", async () => {
    const result = worker.callJson({ function_id: "math::add", payload: '{"a": 1}' });
    await answered('"result":{"sum": 9007199254740993, "huge":1e400},');
    expect(await result).toBe('{"sum": 9007199254740993, "huge":1e400}');
  });

  it("sends null without a payload, and returns null without a result", async () => {
    const result = worker.callJson({ function_id: "math::add" });
    await answered("");
    expect(await result).toBe("null");
    expect(await engine.frame({ function_id: "math::add" })).toMatchObject({ data: null });
  });

  it("has no answer if it is void, and keeps every digit", async () => {
    const texts: string[] = [];
    await worker.connected();
    engine.sockets[0]?.on("message", (data) => texts.push(String(data)));
    await worker.callVoidJson({ function_id: "math::add", payload: '{"a": 9007199254740993}' });
    expect(await engine.frame({ function_id: "math::add" })).toMatchObject({ action: { type: "void" } });
    expect(texts.join("")).toContain('{"a": 9007199254740993}');
  });

  it("sends its text unchanged", async () => {
    const texts: string[] = [];
    await worker.connected();
    engine.sockets[0]?.on("message", (data) => texts.push(String(data)));
    const result = worker.callJson({ function_id: "math::add", payload: '{"a": 9007199254740993, "b":1e400}' });
    await answered('"result":1,');
    expect(await result).toBe("1");
    expect(texts.at(-1)).toContain('"data":{"a": 9007199254740993, "b":1e400}}');
  });

  it.each(["", "{a: 1}", '1},"type":"ping"', "undefined"])(
    "rejects %j, which is not JSON, and sends nothing",
    async (payload) => {
      await worker.connected();
      await expect(worker.callJson({ function_id: "math::add", payload })).rejects.toMatchObject({
        code: "invalid_input",
      });
      expect(engine.frames.some(({ function_id }) => function_id === "math::add")).toBe(false);
    },
  );

  it("rejects as any other call does", async () => {
    const result = worker.callJson({ function_id: "math::add", payload: "{}" });
    await answered('"error":{"code":"taken","message":"no"},');
    await expect(result).rejects.toMatchObject({ code: "taken", message: "no" });
  });
});
