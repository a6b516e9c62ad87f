import { expect, it } from "vitest";
import { isTextMember } from "./text-members.ts";

const format = {
  $ref: "#/$defs/order",
  $defs: {
    order: {
      type: "object",
      properties: {
        id: { type: "string" },
        kind: { enum: ["1", "2"] },
        note: { anyOf: [{ type: "string" }, { type: "null" }] },
        shop: { $ref: "#/$defs/name" },
        count: { type: "integer" },
        any: {},
        either: { type: ["string", "number"] },
        loop: { $ref: "#/$defs/loop" },
      },
    },
    name: { type: "string" },
    loop: { $ref: "#/$defs/loop" },
  },
};

it.each([
  ["id", "1", true],
  ["id", "true", true],
  ["id", '"1"', false],
  ["kind", "1", true],
  ["note", "1", true],
  ["note", "null", false],
  ["shop", "[1]", true],
  ["count", "1", false],
  ["any", "1", false],
  ["either", "1", false],
  ["either", "false", true],
  ["loop", "1", false],
  ["other", "1", false],
  ["constructor", "1", false],
])("the member %s with the value %s must be a string: %s", (name, json, isText) => {
  expect(isTextMember(format, name, json)).toBe(isText);
});

it("takes what was typed if there is no format", () => {
  expect(isTextMember(null, "id", "1")).toBe(false);
  expect(isTextMember({ type: "string" }, "id", "1")).toBe(false);
});
