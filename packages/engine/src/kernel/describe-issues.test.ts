import { describe, expect, it } from "vitest";
import { z } from "zod";
import { describeIssues } from "./describe-issues.ts";

const schema = z.strictObject({
  key: z.string(),
  mode: z.enum(["one", "two"]).optional(),
  ops: z
    .array(
      z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("set"), value: z.string() }),
        z.strictObject({ type: z.literal("add"), by: z.int() }),
      ]),
    )
    .optional(),
});

function described(value: unknown): string {
  const { error } = schema.safeParse(value);
  return error === undefined ? "" : describeIssues(error, { whole: "the payload", schema, value });
}

describe("what is wrong with an input", () => {
  it.each([
    [{}, "`key`: is missing"],
    [{ key: "a", ops: [{ type: "set" }] }, "`ops.0.value`: is missing"],
    [{ key: "a", ops: [{}] }, "`ops.0.type`: is missing"],
    [{ key: 1 }, "`key`: Invalid input: expected string, received number"],
    [{ key: "a", mode: "three" }, '`mode`: Invalid option: expected one of "one"|"two"'],
    [null, "the payload: Invalid input: expected object, received null"],
  ])("is said of %j", (value, text) => {
    expect(described(value)).toBe(text);
  });

  it("names unknown members and the nearest that are known there", () => {
    expect(described({ key: "a", mdoe: "one", other: 1 })).toBe(
      "the payload: unknown member `mdoe`; did you mean mode?; unknown member `other`",
    );
    expect(described({ key: "a", ops: [{ type: "set", value: "", vlaue: "" }] })).toBe(
      "`ops.0`: unknown member `vlaue`; did you mean value?",
    );
    expect(described({ key: "a", ops: [{ type: "add", by: 1, valeu: "" }] })).toBe("`ops.0`: unknown member `valeu`");
  });
});
