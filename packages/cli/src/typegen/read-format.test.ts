import { expect, it } from "vitest";
import { pythonTypes } from "./python.ts";
import { readFormat } from "./read-format.ts";
import { typedFunctions } from "./typed-function.ts";
import { typescriptTypes } from "./typescript.ts";

const listed = (function_id: string, request_format: unknown) => ({
  function_id,
  description: null,
  request_format,
  response_format: null,
});

it("returns unknown with a note for what it cannot express", () => {
  expect(readFormat({ $ref: "https://example.com/schema" })?.root).toEqual({
    kind: "unknown",
    note: "the format refers to https://example.com/schema",
  });
  expect(readFormat({ allOf: [{ type: "string" }, { type: "number" }] })?.root).toMatchObject({
    kind: "unknown",
    note: expect.any(String),
  });
  expect(readFormat(true)?.root).toEqual({ kind: "unknown", note: undefined });
  expect(readFormat(null)).toBeUndefined();
});

it("terminates for a format that is too deep or cyclic", () => {
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 1000; level += 1) deep = { type: "array", items: deep };

  expect(JSON.stringify(readFormat(deep))).toContain("the format is too large");
  expect(
    readFormat({ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" })?.root,
  ).toMatchObject({ kind: "reference" });
});

it("returns no type that is only itself", () => {
  const self = { $ref: "#/$defs/A" };

  expect(readFormat({ $ref: "#" })?.root).toMatchObject({ kind: "unknown", note: expect.any(String) });
  expect(readFormat({ $ref: "#", nullable: true })?.root).toEqual({ kind: "scalar", name: "null" });
  expect(readFormat({ ...self, $defs: { A: self } })?.definitions.get("A")).toMatchObject({ kind: "unknown" });
  expect(readFormat({ ...self, $defs: { A: { anyOf: [self, { type: "string" }] } } })?.definitions.get("A")).toEqual({
    kind: "scalar",
    name: "string",
  });
  const pair = readFormat({ ...self, $defs: { A: { $ref: "#/$defs/B" }, B: { oneOf: [self, { type: "string" }] } } });
  expect([...(pair?.definitions.values() ?? [])]).toMatchObject([{ kind: "unknown" }, { kind: "unknown" }]);
  expect(readFormat({ ...self, $defs: { A: { type: "array", items: self } } })?.definitions.get("A")).toMatchObject({
    kind: "array",
  });
});

it("keeps everything beside a combination or a reference", () => {
  const id = { type: "string" };
  const either = readFormat({
    type: "object",
    properties: { id },
    required: ["id"],
    oneOf: [{ properties: { a: { type: "number" } }, required: ["a"] }, { properties: { b: { type: "number" } } }],
  });
  const beside = readFormat({
    $ref: "#/$defs/A",
    properties: { id },
    $defs: { A: { type: "object", properties: { a: { type: "number" } } } },
  });
  const all = readFormat({
    required: ["a"],
    allOf: [{ type: "object", properties: { a: { type: "string" }, b: { type: "string" } } }],
  });
  const oneOfTwo = readFormat({
    type: "object",
    properties: { a: id, b: id },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  });
  const recursive = readFormat({
    $ref: "#/$defs/A",
    $defs: { A: { type: "object", properties: { next: { type: "object", $ref: "#/$defs/A" } } } },
  });

  expect(either?.root).toMatchObject({
    kind: "union",
    options: [
      {
        members: [
          { name: "a", required: true },
          { name: "id", required: true },
        ],
      },
      {
        members: [
          { name: "b", required: false },
          { name: "id", required: true },
        ],
      },
    ],
  });
  expect(beside?.root).toMatchObject({ kind: "object", members: [{ name: "a" }, { name: "id" }] });
  expect(all?.root).toMatchObject({
    open: false,
    members: [
      { name: "a", type: { name: "string" }, required: true },
      { name: "b", required: false },
    ],
  });
  expect(oneOfTwo?.root).toMatchObject({
    kind: "union",
    options: [
      { open: false, members: [{ required: true, type: { kind: "scalar" } }, { required: false }] },
      { members: [{ required: false }, { required: true }] },
    ],
  });
  expect(recursive?.definitions.get("A")).toMatchObject({
    members: [{ name: "next", type: { kind: "reference", name: "A" } }],
  });
});

it("intersects combined formats", () => {
  const all = (...allOf: unknown[]) => readFormat({ allOf })?.root;

  expect(all({ type: "number" }, { type: "integer" })).toEqual({ kind: "scalar", name: "integer" });
  expect(all({ type: ["string", "null"] }, { enum: ["a", 1, null] })).toEqual({
    kind: "union",
    options: [
      { kind: "literal", values: ["a"] },
      { kind: "literal", values: [null] },
    ],
  });
  expect(all({ type: "array" }, { type: "array", items: { type: "string" } })).toEqual({
    kind: "array",
    items: { kind: "scalar", name: "string" },
  });
  expect(all({ $ref: "https://example.com/x" }, { type: "object", properties: { a: true } })).toMatchObject({
    kind: "unknown",
    note: expect.any(String),
  });
});

it("distinguishes definitions of the same name in two groups", () => {
  const types = readFormat({
    type: "object",
    properties: { new: { $ref: "#/$defs/X" }, old: { $ref: "#/definitions/X" }, oldAgain: { $ref: "#/definitions/X" } },
    $defs: { X: { type: "string" } },
    definitions: { X: { type: "number" } },
  });

  expect(types?.root).toMatchObject({
    members: [{ type: { name: "X" } }, { type: { name: "X definitions" } }, { type: { name: "X definitions" } }],
  });
  expect(types?.definitions.get("X")).toEqual({ kind: "scalar", name: "string" });
  expect(types?.definitions.get("X definitions")).toEqual({ kind: "scalar", name: "number" });
});

it("reads pattern members and further items of a list", () => {
  const both = {
    type: "object",
    patternProperties: { "^s_": { type: "string" } },
    additionalProperties: { type: "number" },
  };
  const tuple = { type: "array", prefixItems: [{ type: "string" }] };

  expect(readFormat(both)?.root).toMatchObject({
    kind: "map",
    values: { kind: "union", options: [{ name: "number" }, { name: "string" }] },
  });
  expect(readFormat({ ...both, additionalProperties: false })?.root).toMatchObject({
    kind: "map",
    values: { name: "string" },
  });
  expect(readFormat({ type: "object", properties: { a: true }, required: ["a", "b"] })?.root).toMatchObject({
    members: [{ name: "a" }, { name: "b", required: true }],
  });
  expect(readFormat(tuple)?.root).toMatchObject({
    kind: "array",
    items: { kind: "unknown", note: expect.any(String) },
  });
  expect(readFormat({ ...tuple, items: false })?.root).toMatchObject({ kind: "array", items: { name: "string" } });
  expect(readFormat({ ...tuple, items: { type: "number" } })?.root).toMatchObject({
    kind: "array",
    items: { kind: "union" },
  });
});

it("terminates for the intersection of recursive objects", () => {
  const block = (name: string) => ({
    type: "object",
    properties: { a: { $ref: `#/$defs/${name}` }, b: { $ref: `#/$defs/${name}` } },
  });
  const format = {
    allOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }],
    $defs: { A: block("A"), B: { ...block("B"), required: ["a"] } },
  };

  expect(JSON.stringify(readFormat(format))).toContain("the format is too large");
});

it("emits no checker directives, and no number that Python does not have", () => {
  const format = {
    type: "object",
    properties: {
      a: { enum: [1e21], description: "@ts-expect-error" },
      b: { type: "string", description: "type: ignore" },
      c: { type: "string", description: "x # type: ignore # mypy: ignore-errors" },
    },
  };
  const { typed } = typedFunctions([listed("f::g", format)]);

  expect(typescriptTypes(typed, [])).not.toContain("@ts-");
  expect(pythonTypes(typed, [])).not.toMatch(/e\+21|# *(?:type|mypy):/);
  expect(pythonTypes(typed, [])).toContain("a: float");
});

it("merges combined objects", () => {
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

it("gives distinct type names to ids with the same name", () => {
  const { typed } = typedFunctions([
    listed("a::b", true),
    listed("a-b", true),
    listed("名前", true),
    listed("1", true),
  ]);

  expect(typed.map(({ id, name }) => [id, name])).toEqual([
    ["1", "Function1"],
    ["a-b", "AB"],
    ["a::b", "AB_2"],
    ["名前", "Function"],
  ]);
});

it("keeps a worker's text inside its place in the source", () => {
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
