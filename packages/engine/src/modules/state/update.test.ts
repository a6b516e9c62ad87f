import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InMemoryEngine } from "../../testing/index.ts";
import { answerText, stateEngine } from "./testing/state-engine.ts";

let engine: InMemoryEngine;
beforeEach(async () => {
  engine = await stateEngine({ maxValueBytes: 1_000 });
});
afterEach(() => engine.stop());

function update(ops: readonly unknown[], more: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  return engine.call("state::update", { scope: "s", key: "k", ops, ...more });
}
function entry(): Promise<unknown> {
  return engine.call("state::get_entry", { scope: "s", key: "k" });
}

describe("state::update", () => {
  it("applies its operations in order and answers old value, new value and version", async () => {
    expect(
      await update([
        { type: "increment", path: "n", by: 2 },
        { type: "append", path: "list", value: "a" },
        { type: "set", path: ["deep", "er"], value: { x: null } },
        { type: "merge", path: ["deep"], value: { more: true } },
        { type: "remove", path: ["deep", "er", "x"] },
        { type: "decrement", path: "n", by: 1 },
      ]),
    ).toEqual({
      old_value: null,
      new_value: { n: 1, list: "a", deep: { er: {}, more: true } },
      version: 1,
      durability: "memory",
    });
    expect(await update([{ type: "increment", path: "n", by: 1 }])).toMatchObject({
      old_value: { n: 1 },
      new_value: { n: 2 },
      version: 2,
    });
  });

  it("takes paths into the depth in set, increment, decrement, append and remove (gap 37)", async () => {
    await engine.call("state::set", { scope: "s", key: "k", value: { "a.b": { n: 1, list: [1], gone: 1 } } });
    await update([
      { type: "set", path: ["a.b", "new", "x"], value: 1 },
      { type: "increment", path: ["a.b", "n"], by: 5 },
      { type: "decrement", path: ["a.b", "m"], by: 5 },
      { type: "append", path: ["a.b", "list"], value: 2 },
      { type: "remove", path: ["a.b", "gone"] },
    ]);
    expect(await engine.call("state::get", { scope: "s", key: "k" })).toEqual({
      "a.b": { n: 6, list: [1, 2], new: { x: 1 }, m: -5 },
    });
  });

  it("writes nothing when one operation fails, and says which (gap 36)", async () => {
    await engine.call("state::set", { scope: "s", key: "k", value: { n: "text" } });
    const before = await entry();
    expect(
      await update([
        { type: "set", path: "other", value: 1 },
        { type: "increment", path: "n", by: 1 },
      ]),
    ).toEqual({
      old_value: { n: "text" },
      new_value: { n: "text" },
      version: 1,
      errors: [{ op_index: 1, code: "increment.not_number", message: "Expected number at path 'n', got string." }],
      durability: "memory",
    });
    expect(await entry()).toEqual(before);
  });

  it("makes no item when every operation fails, atomic or not (gap 36)", async () => {
    for (const atomic of [true, false]) {
      const failed = await update([{ type: "merge", path: "", value: 5 }], { atomic });
      expect(failed).toMatchObject({
        old_value: null,
        new_value: null,
        version: 0,
        errors: [{ op_index: 0, code: "merge.value.not_an_object" }],
      });
    }
    expect(await entry()).toBeNull();
  });

  it("applies the other operations if atomic is false", async () => {
    expect(
      await update(
        [
          { type: "set", path: "a", value: 1 },
          { type: "append", path: "a", value: 1 },
        ],
        { atomic: false },
      ),
    ).toMatchObject({ new_value: { a: 1 }, version: 1, errors: [{ op_index: 1 }] });
  });

  it("keeps the version when it changes nothing", async () => {
    await update([{ type: "set", path: "a", value: 1 }]);
    expect(await update([{ type: "set", path: "a", value: 1 }])).toMatchObject({ new_value: { a: 1 }, version: 1 });
    expect(await update([{ type: "remove", path: "b" }])).toMatchObject({ version: 1 });
  });

  it("updates only at the given version (gap 34)", async () => {
    await update([{ type: "set", path: "a", value: 1 }], { if_version: 0 });
    await expect(update([{ type: "set", path: "a", value: 2 }], { if_version: 0 })).rejects.toMatchObject({
      code: "state_conflict",
      details: { expected: 0, actual: 1 },
    });
    expect(await update([{ type: "set", path: "a", value: 2 }], { if_version: 1 })).toMatchObject({ version: 2 });
  });

  it("keeps the digits of what it does not touch", async () => {
    await answerText(engine, "state::set", '{"scope":"s","key":"k","value":{"big":9007199254740993,"n":1}}');
    expect(
      await answerText(
        engine,
        "state::update",
        '{"scope":"s","key":"k","ops":[{"type":"increment","path":"n","by":1}]}',
      ),
    ).toContain('"new_value":{"big":9007199254740993,"n":2}');
  });

  it("refuses a result over the limit, and one that would lie too deep", async () => {
    await expect(update([{ type: "set", path: "a", value: "x".repeat(2_000) }])).rejects.toMatchObject({
      code: "payload_too_large",
      details: { limit: 1_000 },
    });
    const deep: unknown = JSON.parse("[".repeat(100) + "]".repeat(100));
    const path = Array.from({ length: 29 }, (_, index) => `p${index}`);
    await expect(update([{ type: "set", path, value: deep }])).rejects.toMatchObject({
      code: "invalid_input",
      message: "`ops.0.value`: would be nested deeper than 128 levels",
    });
    expect(await entry()).toBeNull();
    await update([{ type: "set", path: path.slice(1), value: deep }]);
    await update([{ type: "set", path: "", value: JSON.parse("[".repeat(128) + "]".repeat(128)) }]);
    await expect(update([{ type: "append", path: path.slice(1, 29), value: deep }])).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  it.each([
    [[], /`ops`/],
    [[{ type: "multiply", path: "n", by: 2 }], /`ops.0.type`/],
    [[{ type: "increment", path: "n", by: 1.5 }], /`ops.0.by`/],
    [[{ type: "set", path: 5, value: 1 }], /`ops.0.path`/],
    [Array.from({ length: 1_001 }, () => ({ type: "remove", path: "n" })), /`ops`/],
  ])("refuses ops like %j with invalid_input", async (ops, message) => {
    await expect(update(ops.slice(0, 1_001))).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(message),
    });
  });
});
