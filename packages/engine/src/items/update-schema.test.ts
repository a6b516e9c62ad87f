import { Payload } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { MAX_UPDATE_OPS, updateOpsSchema } from "./update-schema.ts";

const remove = { type: "remove", path: "a" };

describe("the schema of update operations", () => {
  it("fills in what may be left out", () => {
    expect(
      updateOpsSchema.parse([
        { type: "set", path: "a" },
        { type: "merge", value: {} },
        { type: "append", path: ["a", "b"], value: 0 },
      ]),
    ).toEqual([
      { type: "set", path: "a", value: null },
      { type: "merge", path: "", value: {} },
      { type: "append", path: ["a", "b"], value: 0 },
    ]);
  });

  it("takes a path that is null for one that was left out, as published clients write it", () => {
    expect(
      updateOpsSchema.parse([
        { type: "merge", path: null, value: {} },
        { type: "append", path: null, value: 0 },
      ]),
    ).toEqual([
      { type: "merge", path: "", value: {} },
      { type: "append", path: "", value: 0 },
    ]);
    expect(updateOpsSchema.safeParse([{ type: "set", path: null }]).success).toBe(false);
  });

  it("reads values that come unread, and keeps the JSON of those whose digits would be lost", () => {
    const ops = ["[1]", "[9007199254740993]"].map((json) => ({
      type: "set",
      path: "a",
      value: Payload.fromText(json),
    }));
    expect(updateOpsSchema.parse(ops)).toEqual([
      { type: "set", path: "a", value: [1] },
      { type: "set", path: "a", value: [9007199254740992], json: "[9007199254740993]" },
    ]);
  });

  it("leaves values to the operations, which report them with their own codes", () => {
    expect(updateOpsSchema.parse([{ type: "merge", path: "", value: 1 }])).toEqual([
      { type: "merge", path: "", value: 1 },
    ]);
  });

  it("refuses what is no operation, fractions, and fewer than one or more than a thousand", () => {
    for (const ops of [
      [],
      Array(MAX_UPDATE_OPS + 1).fill(remove),
      [{ type: "rename", path: "a" }],
      [{ type: "remove" }],
      [{ type: "remove", path: [1] }],
      [{ type: "increment", path: "a", by: 0.5 }],
      [{ type: "increment", path: "a", by: 2 ** 53 }],
      [{ type: "decrement", path: "a" }],
    ]) {
      expect(updateOpsSchema.safeParse(ops).success).toBe(false);
    }
    expect(updateOpsSchema.safeParse(Array(MAX_UPDATE_OPS).fill(remove)).success).toBe(true);
  });
});
