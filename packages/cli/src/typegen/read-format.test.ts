import { expect, it } from "vitest";
import { pythonTypes } from "./python.ts";
import { readFormat } from "./read-format.ts";
import { typedFunctions } from "./typed-function.ts";
import { typescriptTypes } from "./typescript.ts";

const listed = (function_id: string, request_format: unknown) => ({ function_id, description: null, request_format, response_format: null });

it("takes what it cannot tell for unknown, and says why", () => {
  expect(readFormat({ $ref: "https://example.com/schema" })?.root).toEqual({ kind: "unknown", remark: "the format refers to https://example.com/schema" });
  expect(readFormat({ allOf: [{ type: "string" }, { type: "number" }] })?.root).toMatchObject({ kind: "unknown", remark: expect.any(String) });
  expect(readFormat(true)?.root).toEqual({ kind: "unknown", remark: undefined });
  expect(readFormat(null)).toBeUndefined();
});

it("ends for a format that is too deep or refers to itself in a circle", () => {
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 1000; level += 1) deep = { type: "array", items: deep };

  expect(JSON.stringify(readFormat(deep))).toContain("larger than can be told");
  expect(readFormat({ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" })?.root).toMatchObject({ kind: "reference" });
});

it("makes one block of blocks that are all to hold", () => {
  const format = {
    allOf: [{ $ref: "#/$defs/base" }, { type: "object", properties: { b: { type: "number" } } }],
    $defs: { base: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
  };

  expect(readFormat(format)?.root).toMatchObject({
    kind: "object",
    members: [
      { name: "a", required: true },
      { name: "b", required: false },
    ],
  });
});

it("names types apart where ids come to the same name", () => {
  const { typed } = typedFunctions([listed("a::b", true), listed("a-b", true), listed("名前", true), listed("1", true)]);

  expect(typed.map(({ id, name }) => [id, name])).toEqual([
    ["1", "Function1"],
    ["a-b", "AB"],
    ["a::b", "AB_2"],
    ["名前", "Function"],
  ]);
});

it("lets no worker's text out of the place that it has in the source", () => {
  const description = "x */ }; process.exit(); /*\n\u2028evil()";
  const format = { type: "object", properties: { 'a"]: evil; //': { description, const: "`evil()`" } } };
  const { typed } = typedFunctions([{ ...listed('f"::g', format), description }]);

  const typescript = typescriptTypes(typed, []);
  const python = pythonTypes(typed, []);

  expect(typescript).toContain('"f\\"::g": { payload: FGPayload };');
  expect(typescript.replaceAll(/\/\*[\s\S]*?\*\//g, "")).not.toMatch(/process\.exit|^evil/m);
  expect(python.split("\n").filter((line) => /evil|exit/.test(line) && !line.trimStart().startsWith("#"))).toEqual([
    expect.stringMatching(/^ {4}"a\\"\]: evil; \/\/": "Literal\[/),
  ]);
});
