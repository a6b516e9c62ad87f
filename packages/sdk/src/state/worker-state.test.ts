import { once } from "node:events";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine, type Frame } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect } from "../node.ts";
import type { Worker } from "../worker.ts";

let engine: FakeEngine;
let worker: Worker;
let answers: Record<string, (data: unknown) => unknown>;
let asked: (readonly [id: unknown, data: unknown, more?: unknown])[];

beforeEach(async () => {
  answers = {};
  asked = [];
  engine = await FakeEngine.start();
  engine.reply = (frame): Frame | undefined => {
    if (
      frame.type !== "invokefunction" ||
      frame.invocation_id === undefined ||
      frame.function_id === "engine::workers::register"
    )
      return undefined;
    const { invocation_id, function_id, data } = frame;
    asked.push([function_id, data]);
    const answer = answers[String(function_id)];
    const result = answer === undefined ? null : answer(data);
    return { type: "invocationresult", invocation_id, function_id, result };
  };
  worker = connect(engine.address, { logger: silentLogger, handleSignals: false });
  await worker.connected();
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

describe("worker.state", () => {
  it("calls the functions of the same names with the wire's members", async () => {
    const { state } = worker;
    await state.get("s", "k");
    await state.getEntry("s", "k");
    await state.set("s", "k", { a: 1 }, { ifVersion: 3, expiresInMs: 50 });
    await state.set("s", "k", null);
    await state.update("s", "k", [{ type: "increment", path: ["a", "b"], by: 1 }], {
      atomic: false,
      ifVersion: 0,
      expiresInMs: 9,
    });
    await state.delete("s", "k", { ifVersion: 2 });
    answers["state::get_many"] = () => ({ items: [null, { key: "b" }] });
    expect(await state.getMany("s", ["a", "b"])).toEqual([null, { key: "b" }]);
    await state.setMany([
      { scope: "s", key: "a", value: 1, ifVersion: 0 },
      { scope: "t", key: "b", value: 2, expiresInMs: 5 },
    ]);
    await state.deleteMany("s", { prefix: "p" });
    await state.deleteMany("s", { keys: ["a"] });
    await state.list("s");
    answers["state::list_groups"] = () => ({ groups: ["s"] });
    expect(await state.listGroups()).toEqual(["s"]);
    await state.groupsPage({ prefix: "s", limit: 5 });
    await state.snapshot({ name: "monday" });
    expect(asked).toEqual([
      ["state::get", { scope: "s", key: "k" }],
      ["state::get_entry", { scope: "s", key: "k" }],
      ["state::set", { scope: "s", key: "k", if_version: 3, expires_in_ms: 50, value: { a: 1 } }],
      ["state::set", { scope: "s", key: "k", value: null }],
      [
        "state::update",
        {
          scope: "s",
          key: "k",
          if_version: 0,
          expires_in_ms: 9,
          atomic: false,
          ops: [{ type: "increment", path: ["a", "b"], by: 1 }],
        },
      ],
      ["state::delete", { scope: "s", key: "k", if_version: 2 }],
      ["state::get_many", { scope: "s", keys: ["a", "b"] }],
      [
        "state::set_many",
        {
          items: [
            { scope: "s", key: "a", if_version: 0, value: 1 },
            { scope: "t", key: "b", expires_in_ms: 5, value: 2 },
          ],
        },
      ],
      ["state::delete_many", { scope: "s", prefix: "p" }],
      ["state::delete_many", { scope: "s", keys: ["a"] }],
      ["state::list", { scope: "s" }],
      ["state::list_groups", {}],
      ["state::groups", { prefix: "s", limit: 5 }],
      ["state::snapshot", { name: "monday" }],
    ]);
  });

  it("yields all pages, and requests a page only when it is needed", async () => {
    const pages: Record<string, unknown> = {
      first: { items: [{ key: "a" }, { key: "b" }], cursor: "c2", total: 3 },
      c2: { items: [{ key: "c" }], cursor: null, total: 3 },
    };
    answers["state::entries"] = (data) => pages[(data as { cursor?: string }).cursor ?? "first"];
    const keys: string[] = [];
    for await (const { key } of worker.state.entries("s", { prefix: "p", pageSize: 2 })) keys.push(key);
    expect(keys).toEqual(["a", "b", "c"]);
    expect(asked.map(([, data]) => data)).toEqual([
      { scope: "s", prefix: "p", limit: 2 },
      { scope: "s", prefix: "p", cursor: "c2", limit: 2 },
    ]);
    for await (const { key } of worker.state.entries("s")) if (key === "a") break;
    expect(asked).toHaveLength(3);
  });

  it("has typed scopes", async () => {
    const math = worker.state.scope<{ total: number; names: string[] }>("math");
    await math.set("total", 1, { ifVersion: 0 });
    await math.update("total", [{ type: "increment", path: "", by: 1 }]);
    await math.setMany({ total: 1, names: [] });
    await math.deleteMany({ keys: ["total"] });
    expect(asked).toEqual([
      ["state::set", { scope: "math", key: "total", if_version: 0, value: 1 }],
      ["state::update", { scope: "math", key: "total", ops: [{ type: "increment", path: "", by: 1 }] }],
      [
        "state::set_many",
        {
          items: [
            { scope: "math", key: "total", value: 1 },
            { scope: "math", key: "names", value: [] },
          ],
        },
      ],
      ["state::delete_many", { scope: "math", keys: ["total"] }],
    ]);
  });

  it("has scopes that make the same calls with their scope", async () => {
    const { state } = worker;
    const scope = state.scope("s");
    const page = { items: [{ key: "k" }], cursor: null, total: 1 };
    answers = { "state::entries": () => page, "state::get_many": () => ({ items: [null] }) };
    expect(scope.name).toBe("s");
    await scope.get("k", { timeoutMs: 1_000 });
    await scope.getEntry("k");
    await scope.delete("k", { ifVersion: 2 });
    expect(await scope.getMany(["k"])).toEqual([null]);
    await scope.list();
    for await (const { key } of scope.entries({ pageSize: 2 })) expect(key).toBe("k");
    expect(await scope.entriesPage({ prefix: "p" })).toEqual(page);
    const own = asked.splice(0);
    await state.get("s", "k", { timeoutMs: 1_000 });
    await state.getEntry("s", "k");
    await state.delete("s", "k", { ifVersion: 2 });
    await state.getMany("s", ["k"]);
    await state.list("s");
    for await (const { key } of state.entries("s", { pageSize: 2 })) expect(key).toBe("k");
    await state.entriesPage("s", { prefix: "p" });
    expect(own).toEqual(asked);
    expect(own).toHaveLength(7);
  });

  it("fails with the engine's error, which contains the versions of a conflict", async () => {
    engine.reply = ({ invocation_id, function_id, type }) =>
      type === "invokefunction" && invocation_id !== undefined
        ? {
            type: "invocationresult",
            invocation_id,
            function_id,
            error: { code: "state_conflict", message: "no", details: { expected: 1, actual: 2 } },
          }
        : undefined;
    await expect(worker.state.set("s", "k", 1, { ifVersion: 1 })).rejects.toMatchObject({
      code: "state_conflict",
      details: { expected: 1, actual: 2 },
    });
  });

  it("passes on its timeout and signal", async () => {
    answers["state::get"] = () => undefined;
    engine.reply = () => undefined;
    await expect(worker.state.get("s", "k", { timeoutMs: 5 })).rejects.toMatchObject({ code: "call_timeout" });
    const controller = new AbortController();
    const waiting = worker.state.list("s", { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: "call_cancelled" });
  });

  it("passes the trace on in a handler, from the context and, on Node, from the worker", async () => {
    worker.registerFunction("f", async (_input, { state, stream }) => {
      await state.get("s", "k");
      await stream.get("s", "g", "i");
      await worker.state.get("s", "other");
    });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const invocation_id = crypto.randomUUID();
    engine.send({ type: "invokefunction", invocation_id, function_id: "f", data: {}, traceparent });
    await engine.frame({ type: "invocationresult", invocation_id });
    for (const data of [
      { scope: "s", key: "k" },
      { scope: "s", key: "other" },
      { stream_name: "s", group_id: "g", item_id: "i" },
    ])
      expect(await engine.frame({ type: "invokefunction", data })).toMatchObject({ traceparent });
  });
});

describe("an export", () => {
  const lines = [
    { scope: "s", key: "a", value: 1, version: 1, updated_at: "2026-01-01T00:00:00.000Z" },
    { scope: "s", key: "é", value: "ü\n", version: 2, updated_at: "2026-01-01T00:00:00.000Z" },
    { scope: "s", key: "c", value: null, version: 1, updated_at: "2026-01-01T00:00:00.000Z" },
  ];

  it("yields its items, independent of the chunks of the channel", async () => {
    answers["state::export"] = () => ({ lines: { channel_id: "c", access_key: "k", direction: "read" } });
    const items = (async () => {
      const found: unknown[] = [];
      for await (const item of worker.state.export({ scope: "s", prefix: "" })) found.push(item);
      return found;
    })();
    const { socket } = await engine.end();
    const bytes = Buffer.from(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    for (let at = 0; at < bytes.length; at += 7) socket.send(bytes.subarray(at, at + 7));
    socket.close(1000);
    expect(await items).toEqual(lines);
    expect(asked).toEqual([["state::export", { scope: "s", prefix: "" }]]);
  });

  it("yields lines unchanged, and stops when the loop is left", async () => {
    answers["state::export"] = () => ({ lines: { channel_id: "c", access_key: "k", direction: "read" } });
    const first = (async () => {
      for await (const line of worker.state.exportLines()) return line;
      return undefined;
    })();
    const { socket } = await engine.end();
    const closed = once(socket, "close");
    socket.send('{"value":12345678901234567890}\n\n{"value":2}');
    expect(await first).toBe('{"value":12345678901234567890}');
    await closed;
  });
});

describe("an import", () => {
  const channel = () => ({
    reader: { channel_id: "c", access_key: "r", direction: "read" },
    writer: { channel_id: "c", access_key: "w", direction: "write" },
  });

  it("sends lines and items, and resolves to their counts", async () => {
    answers["engine::channels::create"] = channel;
    engine.reply = withoutAnswerTo("state::import", engine.reply);
    const result = worker.state.import(
      ['{"scope":"s","key":"a","value":1}\n', { scope: "s", key: "b", value: { x: 1 } }],
      { onExisting: "skip" },
    );
    const end = await engine.end();
    await end.closed;
    expect(String(end.items.join(""))).toBe(
      '{"scope":"s","key":"a","value":1}\n{"scope":"s","key":"b","value":{"x":1}}\n',
    );
    const call = await engine.frame({ type: "invokefunction", function_id: "state::import" });
    expect(call.data).toEqual({ lines: channel().reader, on_existing: "skip" });
    engine.send({
      type: "invocationresult",
      invocation_id: call.invocation_id,
      function_id: "state::import",
      result: { imported: 2, skipped: 0 },
    });
    expect(await result).toEqual({ imported: 2, skipped: 0 });
  });

  it("loses no lines of node:readline, which emits them before the channel exists", async () => {
    answers["engine::channels::create"] = channel;
    engine.reply = withoutAnswerTo("state::import", engine.reply);
    const input = Readable.from(['{"scope":"s","key":"a","value":1}\n', '{"scope":"s","key":"b","value":2}\n']);
    const lines = createInterface({ input });
    const result = worker.state.import(lines);
    const end = await engine.end();
    await end.closed;
    expect(end.items.join("")).toBe('{"scope":"s","key":"a","value":1}\n{"scope":"s","key":"b","value":2}\n');
    const call = await engine.frame({ type: "invokefunction", function_id: "state::import" });
    engine.send({
      type: "invocationresult",
      invocation_id: call.invocation_id,
      function_id: "state::import",
      result: { imported: 2, skipped: 0 },
    });
    await result;
  });

  it("fails with the engine's error at once, even if the items have not ended", async () => {
    answers["engine::channels::create"] = channel;
    engine.reply = withoutAnswerTo("state::import", engine.reply);
    async function* endless(): AsyncGenerator<string> {
      yield "x".repeat(40_000);
      await new Promise(() => {});
    }
    const result = worker.state.import(endless());
    const call = await engine.frame({ type: "invokefunction", function_id: "state::import" });
    const end = await engine.end();
    const error = { code: "invalid_json", message: "line 1" };
    engine.send({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "state::import", error });
    await expect(result).rejects.toMatchObject({ code: "invalid_json", message: "line 1" });
    expect((await end.closed)[0]).not.toBe(1000);
  });

  it("is aborted with the error of the items if they fail", async () => {
    answers["engine::channels::create"] = channel;
    engine.reply = withoutAnswerTo("state::import", engine.reply);
    function* failing(): Generator<string> {
      yield "x".repeat(40_000);
      throw new RangeError("the disk");
    }
    const result = worker.state.import(failing());
    await expect(result).rejects.toThrow(new RangeError("the disk"));
    const end = await engine.end();
    expect((await end.closed)[0]).not.toBe(1000);
  });

  it("cancels its call if the items fail before the first line is sent, so that a shutdown need not wait", async () => {
    answers["engine::channels::create"] = channel;
    engine.reply = withoutAnswerTo("state::import", engine.reply);
    // biome-ignore lint/correctness/useYield: it fails before the first item
    function* failing(): Generator<string> {
      throw new RangeError("the disk");
    }
    await expect(worker.state.import(failing())).rejects.toThrow(new RangeError("the disk"));
    const call = await engine.frame({ type: "invokefunction", function_id: "state::import" });
    await engine.frame({ type: "cancelinvocation", invocation_id: call.invocation_id });
  });
});

function withoutAnswerTo(
  functionId: string,
  reply: (frame: Frame) => Frame | undefined,
): (frame: Frame) => Frame | undefined {
  return (frame) => (frame.function_id === functionId ? undefined : reply(frame));
}
