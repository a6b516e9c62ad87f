import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InMemoryEngine } from "../../testing/index.ts";
import { answerText, stateEngine } from "./testing/state-engine.ts";

let engine: InMemoryEngine;
beforeEach(async () => {
  engine = await stateEngine();
});
afterEach(() => engine.stop());

function call(name: string, input: unknown): Promise<unknown> {
  return engine.call(`state::${name}`, input);
}
function set(scope: string, key: string, value: unknown): Promise<unknown> {
  return call("set", { scope, key, value });
}

describe("state::set_many", () => {
  it("stores items of several scopes in one step and answers their versions", async () => {
    await set("a", "k", 0);
    expect(
      await call("set_many", {
        items: [
          { scope: "a", key: "k", value: 1 },
          { scope: "b", key: "k", data: null, if_version: 0 },
          { scope: "b", key: "k", value: 2 },
        ],
      }),
    ).toEqual({
      items: [
        { scope: "a", key: "k", version: 2 },
        { scope: "b", key: "k", version: 1 },
        { scope: "b", key: "k", version: 2 },
      ],
      durability: "memory",
    });
    expect(await call("get", { scope: "b", key: "k" })).toBe(2);
  });

  it("keeps digits, each item's own", async () => {
    await answerText(
      engine,
      "state::set_many",
      '{"items":[{"scope":"s","key":"a","value":9007199254740993},{"scope":"s","key":"b","value": [ 1e400 ] }]}',
    );
    expect(await answerText(engine, "state::list", '{"scope":"s"}')).toBe("[9007199254740993,[1e400]]");
  });

  it("stores none when one has another version than it should, and says which", async () => {
    await set("s", "b", 1);
    const items = [
      { scope: "s", key: "a", value: 1 },
      { scope: "s", key: "b", value: 2, if_version: 7 },
    ];
    await expect(call("set_many", { items })).rejects.toMatchObject({
      code: "state_conflict",
      message: '`items.1`: "b" in scope "s" was expected at version 7, but it has version 1; nothing was written',
      details: { index: 1, expected: 7, actual: 1 },
    });
    expect(await call("list", { scope: "s" })).toEqual([1]);
  });

  it.each([
    [[], /`items`/],
    [[{ scope: "s", key: "k" }], /`items.0.value`: is missing/],
    [[{ scope: "s", key: "", value: 1 }], /`items.0.key`/],
    [Array.from({ length: 1_001 }, () => ({ scope: "s", key: "k", value: 1 })), /`items`/],
  ])("refuses items like %j with invalid_input", async (items, message) => {
    await expect(call("set_many", { items })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(message),
    });
  });
});

describe("state::get_many", () => {
  it("answers items in the order of the keys, null where there is none", async () => {
    await set("s", "a", 1);
    await set("s", "b", 2);
    expect(await call("get_many", { scope: "s", keys: ["b", "never", "a", "b"] })).toMatchObject({
      items: [{ key: "b", value: 2 }, null, { key: "a", version: 1 }, { key: "b" }],
    });
  });

  it("refuses more than fits in a response, and more than 1,000 keys", async () => {
    for (const key of ["a", "b"]) await set("s", key, "x".repeat(8_000_000));
    await expect(call("get_many", { scope: "s", keys: ["a", "b"] })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { bytes: 16_000_004, limit: 15_728_640 },
    });
    await expect(
      call("get_many", { scope: "s", keys: Array.from({ length: 1_001 }, () => "k") }),
    ).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("state::delete_many", () => {
  it("removes the keys that are there, and counts them", async () => {
    for (const key of ["a", "b", "c"]) await set("s", key, 1);
    expect(await call("delete_many", { scope: "s", keys: ["a", "c", "never", "a"] })).toEqual({ deleted: 2 });
    expect(await call("entries", { scope: "s" })).toMatchObject({ items: [{ key: "b" }] });
  });

  it("removes what begins with a prefix, however much it is, and nothing else", async () => {
    const keys = Array.from({ length: 1_200 }, (_, index) => `user:${index}`);
    for (let start = 0; start < keys.length; start += 400) {
      await call("set_many", { items: keys.slice(start, start + 400).map((key) => ({ scope: "s", key, value: 1 })) });
    }
    await set("s", "use", 1);
    await set("s", "user;", 1);
    expect(await call("delete_many", { scope: "s", prefix: "user:" })).toEqual({ deleted: 1_200 });
    expect(await call("list", { scope: "s" })).toEqual([1, 1]);
    expect(await call("delete_many", { scope: "s", prefix: "" })).toEqual({ deleted: 2 });
    expect(await call("list_groups", {})).toEqual({ groups: [] });
  });

  it.each([{}, { keys: ["a"], prefix: "a" }, { keys: [] }, { prefix: "\udc00" }])(
    "refuses %j with invalid_input",
    async (input) => {
      await expect(call("delete_many", { scope: "s", ...input })).rejects.toMatchObject({ code: "invalid_input" });
    },
  );
});

describe("state::groups", () => {
  it("answers scopes with how many items and bytes they hold, page by page", async () => {
    await set("a", "k", 1);
    await set("a", "l", "é");
    await set("b:1", "k", [1, 2]);
    await set("b:2", "k", null);
    const first = (await call("groups", { limit: 2 })) as { cursor: string };
    expect(first).toEqual({
      items: [
        { scope: "a", items: 2, bytes: 5 },
        { scope: "b:1", items: 1, bytes: 5 },
      ],
      total: 3,
      cursor: expect.any(String),
    });
    expect(await call("groups", { limit: 2, cursor: first.cursor })).toEqual({
      items: [{ scope: "b:2", items: 1, bytes: 4 }],
      total: 3,
      cursor: null,
    });
    expect(await call("groups", { prefix: "b:" })).toMatchObject({
      items: [{ scope: "b:1" }, { scope: "b:2" }],
      total: 2,
      cursor: null,
    });
    expect(await call("groups", null)).toMatchObject({ total: 3 });
    await expect(call("groups", { cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_input" });
  });
});
