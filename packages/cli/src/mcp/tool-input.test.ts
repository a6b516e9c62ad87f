import { expect, it } from "vitest";
import { toolInput } from "./tool-input.ts";
import { ToolNames } from "./tool-names.ts";

it("uses an object format unchanged, and any object without a format", () => {
  const format = { type: "object", properties: { a: { type: "number" } } };

  expect(toolInput(format).schema).toEqual(format);
  expect(toolInput(format).payloadOf({ a: 1 })).toEqual({ a: 1 });
  expect(toolInput(null).schema).toEqual({ type: "object" });
  expect(toolInput(undefined).payloadOf({ b: 2 })).toEqual({ b: 2 });
});

it("resolves a format that is only a reference to one of its definitions", () => {
  const $defs = { Person: { type: "object", properties: { friend: { $ref: "#/$defs/Person" } } } };

  expect(toolInput({ $ref: "#/$defs/Person", $defs }).schema).toEqual({ ...$defs.Person, $defs });
});

it("wraps everything else and adjusts its references", () => {
  const { schema, payloadOf } = toolInput({
    type: "array",
    items: { $ref: "#/$defs/Row" },
    $defs: { Row: { type: "string" } },
  });

  expect(schema).toMatchObject({
    type: "object",
    required: ["payload"],
    properties: { payload: { items: { $ref: "#/properties/payload/$defs/Row" } } },
  });
  expect(payloadOf({ payload: ["x"] })).toEqual(["x"]);
  expect(toolInput(true).schema).toMatchObject({ properties: { payload: true } });
});

it("gives each function a distinct name, even if an id equals another's hashed name", () => {
  const plain = new ToolNames().update(["a::b", "a:_b"]);
  const hashed = plain.get("a:_b") === "a__b" ? plain.get("a::b") : plain.get("a:_b");
  const names = new ToolNames().update(["a::b", "a:_b"].concat(hashed ?? ""));

  expect(hashed).toMatch(/^a__b_[0-9a-f]{8}$/);
  expect(new Set(names.values()).size).toBe(3);

  const before = new ToolNames();
  before.update([hashed ?? ""]);
  expect(new Set(before.update(["a::b", "a:_b", hashed ?? ""]).values()).size).toBe(3);
});

it("gives each function a name that model providers accept, and keeps it", () => {
  const names = new ToolNames();
  const long = `shop::${"x".repeat(100)}`;

  const first = names.update(["math::add", "math__add", "größe::m", long]);
  expect(first.get("math::add")).toBe("math__add");
  expect(first.get("math__add")).toMatch(/^math__add_[0-9a-f]{8}$/);
  expect(new Set(first.values()).size).toBe(4);
  for (const name of first.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);

  const later = names.update(["math.:add", "math__add", "math::add"]);
  expect(later.get("math::add")).toBe("math__add");
  expect(later.get("math__add")).toBe(first.get("math__add"));
  expect(later.get("math.:add")).toMatch(/^math__add_[0-9a-f]{8}$/);
});
