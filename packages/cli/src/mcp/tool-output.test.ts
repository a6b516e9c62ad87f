import { expect, it } from "vitest";
import { toolOutput } from "./tool-output.ts";

it("uses an object format without its id, and checks results against it", () => {
  const format = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  const output = toolOutput({ ...format, $id: "https://example.com/order" });

  expect(output.schema).toEqual(format);
  expect(output.contentOf({ total: 3 })).toEqual({ content: { total: 3 } });
  expect(output.contentOf({ total: "3" })).toEqual({ problem: expect.stringContaining("total") });
  expect(output.contentOf(null)).toHaveProperty("problem");
});

it("wraps everything else as `result` and adjusts its references", () => {
  const output = toolOutput({
    type: "array",
    items: { $ref: "#/$defs/Row" },
    $defs: { Row: { type: "string" } },
  });

  expect(output.schema).toMatchObject({ properties: { result: { items: { $ref: "#/properties/result/$defs/Row" } } } });
  expect(output.contentOf(["x"])).toEqual({ content: { result: ["x"] } });
  expect(output.contentOf([1])).toHaveProperty("problem");
});

it.each([undefined, null, { type: "nonsense" }, { $ref: "#/$defs/Missing" }])("declares nothing for %j", (format) => {
  const output = toolOutput(format);

  expect(output.schema).toBeUndefined();
  expect(output.contentOf({ a: 1 })).toEqual({ content: { a: 1 } });
  expect(output.contentOf(7)).toEqual({ content: { result: 7 } });
});
