import { describe, expect, it } from "vitest";
import { checkPayload } from "../../lib/check-payload.ts";
import { formatJson, parseJson } from "../../lib/json.ts";
import { prefill } from "../../model/prefill.ts";
import { resolve, typeName } from "../../model/schema.ts";
import { formFor, numberFromText, setAt, unnamedMembers, valueAt } from "./form-model.ts";

describe("the initial text of an editor", () => {
  it.each([
    [
      "a default before all else",
      {
        type: "object",
        required: ["a"],
        properties: { a: { type: "integer", default: 7, examples: [8], minimum: 1 } },
      },
      { a: 7 },
    ],
    [
      "an example",
      { type: "object", required: ["a"], properties: { a: { type: "string", examples: ["tea"] } } },
      { a: "tea" },
    ],
    [
      "the first of an enumeration",
      { type: "object", required: ["a"], properties: { a: { enum: ["s", "m"] } } },
      { a: "s" },
    ],
    [
      "the smallest number that fits",
      {
        type: "object",
        required: ["a", "b", "c"],
        properties: {
          a: { type: "integer", minimum: 3 },
          b: { type: "integer", exclusiveMinimum: 0, multipleOf: 5 },
          c: { type: "number", maximum: -2 },
        },
      },
      { a: 3, b: 5, c: -2 },
    ],
    [
      "the shortest text and list",
      {
        type: "object",
        required: ["a", "b"],
        properties: {
          a: { type: "string", minLength: 2 },
          b: { type: "array", minItems: 1, items: { type: "boolean" } },
        },
      },
      { a: "xx", b: [false] },
    ],
    ["nothing for optional members", { type: "object", properties: { a: { type: "string" } } }, {}],
    [
      "members with references",
      {
        type: "object",
        required: ["a"],
        properties: { a: { $ref: "#/$defs/A" } },
        $defs: { A: { type: "object", required: ["n"], properties: { n: { type: "integer" } } } },
      },
      { a: { n: 0 } },
    ],
    ["a schema of a scalar", { type: "integer", minimum: 2 }, 2],
    ["no schema", null, {}],
  ])("is %s", async (_, schema, expected) => {
    expect(JSON.parse(prefill(schema))).toEqual(expected);
    if (schema !== null) expect(await checkPayload(prefill(schema), schema)).toEqual({ kind: "fits" });
  });

  it("terminates for a recursive schema", () => {
    const schema = { type: "object", required: ["next"], properties: { next: { $ref: "#" } } };
    expect(prefill(schema).length).toBeLessThan(2_000);
    expect(resolve({ $ref: "#/a" }, { a: { $ref: "#/a" } })).toBeUndefined();
  });
});

describe("the form", () => {
  const schema = {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string" },
      amount: { type: ["integer", "null"], maximum: 9 },
      tags: { type: "array", items: { type: "string" } },
      address: { type: "object", properties: { city: { type: "string" } } },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
      odd: { type: "string", not: { const: "a" } },
    },
  };

  it("has controls for scalars, lists of scalars and objects, and JSON for the rest, with a note", () => {
    const model = formFor(schema);
    if (!model.ok) throw new Error(model.reason);
    expect(model.fields.map(({ name, kind, required, nullable }) => [name, kind, required, nullable])).toEqual([
      ["name", "string", true, false],
      ["amount", "number", false, true],
      ["tags", "array", false, false],
      ["address", "object", false, false],
      ["either", "choice", false, false],
      ["odd", "json", false, false],
    ]);
    expect(model.notes.join()).toContain("odd");
    expect(typeName(schema.properties.either, schema)).toBe("string or number");
    expect(typeName({ oneOf: [{ type: "object" }, { type: "object" }] }, schema)).toBe("object");
  });

  it.each([
    [{ type: "string" }, "expects string"],
    [{ type: "object", properties: { a: {} }, not: {} }, "not"],
    [{ type: "object" }, "defines no members"],
    [null, "no schema"],
  ])("explains why there is none for %j", (other, reason) => {
    const model = formFor(other);
    expect(model.ok ? "" : model.reason).toContain(reason);
  });

  it("changes one value and keeps all other numbers, names and their order", () => {
    const text = '{"big":9007199254740993,"__proto__":{"x":1.50},"list":[1,2,3],"name":"a","-0":-0}';
    const changed = setAt(setAt(parseJson(text), ["name"], "b"), ["list", 1], undefined);
    expect(formatJson(changed, 0)).toBe(
      '{"big":9007199254740993,"__proto__":{"x":1.50},"list":[1,3],"name":"b","-0":-0}',
    );
    expect(formatJson(setAt(parseJson("{}"), ["a", "b"], numberFromText("12345678901234567890.10")), 0)).toBe(
      '{"a":{"b":12345678901234567890.10}}',
    );
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it("removes a member, and keeps 0, false, null and empty strings", () => {
    const value = parseJson('{"a":0,"b":false,"c":null,"d":""}');
    expect(formatJson(setAt(value, ["b"], undefined), 0)).toBe('{"a":0,"c":null,"d":""}');
    expect([valueAt(value, ["a"]), valueAt(value, ["c"]), valueAt(value, ["d"]), valueAt(value, ["toString"])]).toEqual(
      [0, null, "", undefined],
    );
  });

  it("keeps an invalid number as text, so that validation rejects it", async () => {
    expect(numberFromText("1.")).toBe("1.");
    expect(numberFromText(" 5 ")).toBe(5);
    expect(await checkPayload('{"name":"a","amount":"1."}', schema)).toMatchObject({ kind: "problems" });
  });

  it("lists members that the schema does not define", () => {
    const model = formFor(schema);
    expect(model.ok && unnamedMembers(parseJson('{"name":"a","other":1}'), model.fields)).toEqual(["other"]);
  });
});

describe("checking", () => {
  it("reports the location of each problem, innermost only", async () => {
    const schema = {
      type: "object",
      required: ["b"],
      properties: { a: { type: "object", properties: { n: { type: "integer", maximum: 3 } } } },
    };
    const check = await checkPayload('{"a":{"n":4}}', schema);
    if (check.kind !== "problems") throw new Error(check.kind);
    expect(check.problems.map(({ pointer }) => pointer).sort()).toEqual(["", "/a/n"]);
  });

  it("accepts numbers beyond 2^53", async () => {
    expect(await checkPayload("9007199254740993", { type: "integer" })).toEqual({ kind: "fits" });
  });

  it("reports that it cannot check with an invalid schema or a large payload", async () => {
    expect(await checkPayload("{}", { $ref: "https://elsewhere.example/x" })).toMatchObject({
      kind: "unchecked",
      reason: expect.stringContaining("cannot be used"),
    });
    expect(await checkPayload(`"${"x".repeat(300_000)}"`, { type: "string" })).toMatchObject({ kind: "unchecked" });
    expect(await checkPayload('{"a":', {})).toMatchObject({ kind: "syntax" });
  });
});
