import { expect, it } from "vitest";
import { nameProblem, readEntries, readItemPage, typeOfJson } from "./model.ts";
import { type NewValue, valueProblem, valueToJson } from "./new-value.ts";
import { type Binding, triggersOf } from "./triggers.ts";

const ITEM =
  '{"key":"a/b","value":{"n":12345678901234567890},"version":2,"updated_at":"2026-11-22T00:00:00.000Z","bytes":26,"expires_at":"2026-11-23T00:00:00.000Z"}';

it("parses a page of items and leaves their values as text", () => {
  expect(readItemPage(`{"items":[${ITEM}],"cursor":"c1","total":7}`)).toMatchObject({
    items: [{ key: "a/b", json: '{"n":12345678901234567890}', version: 2, expiresAtMs: Date.parse("2026-11-23") }],
    cursor: "c1",
    total: 7,
  });
  expect(readEntries(`{"items":[null,${ITEM}]}`).map((item) => item?.key)).toEqual([undefined, "a/b"]);
});

it.each([
  ["{}", "object"],
  ["[]", "array"],
  ['""', "string"],
  ["-1", "number"],
  ["false", "boolean"],
  ["null", "null"],
] as const)("returns the type of %s", (json, type) => {
  expect(typeOfJson(json)).toBe(type);
});

it("rejects the names that the engine rejects", () => {
  for (const name of ["", "__proto__", "\ud800", "x".repeat(1025), "é".repeat(513)])
    expect(nameProblem(name)).toBeDefined();
  for (const name of [" ", "..", "/", "é".repeat(512), "💥"]) expect(nameProblem(name)).toBeUndefined();
});

it.each<[NewValue, string]>([
  [{ type: "string", text: "007" }, '"007"'],
  [{ type: "string", text: "" }, '""'],
  [{ type: "number", text: " 9007199254740993 " }, "9007199254740993"],
  [{ type: "boolean", text: "" }, "false"],
  [{ type: "null", text: "x" }, "null"],
  [{ type: "JSON", text: '{"a":1}' }, '{"a":1}'],
])("converts %j to JSON of the chosen type", (value, json) => {
  expect(valueProblem(value, "k")).toBeUndefined();
  expect(valueToJson(value)).toBe(json);
});

it.each<NewValue>([
  { type: "number", text: "" },
  { type: "number", text: "1e" },
  { type: "number", text: "0x1" },
  { type: "JSON", text: "{" },
])("rejects %j", (value) => {
  expect(valueProblem(value, "k")).toBeDefined();
});

it("finds the triggers that a change fires", () => {
  const binding = (id: string, config: unknown, type = "state", internal = false): Binding => ({
    id,
    trigger_type: type,
    function_id: "f",
    config,
    status: "active",
    internal,
  });
  const all = [
    binding("any", {}),
    binding("scope", { scope: "a" }),
    binding("other", { scope: "b" }),
    binding("key", { scope: "a", key: "k" }, "state:updated"),
    binding("prefix", { prefix: "x" }),
    binding("http", {}, "http"),
    binding("ours", {}, "state", true),
  ];
  expect(triggersOf(all, "a", "k").map(({ id }) => id)).toEqual(["any", "scope", "key"]);
  expect(triggersOf(all, "a").map(({ id }) => id)).toEqual(["any", "scope", "key", "prefix"]);
});
