import { describe, expect, it } from "vitest";
import { applyOps } from "./apply-ops.ts";
import type { UpdateOp } from "./update-op.ts";

function apply(json: string | undefined, ...ops: readonly UpdateOp[]): string | undefined {
  const { json: after, errors } = applyOps(json, ops, { atomic: true });
  expect(errors).toEqual([]);
  return after;
}

function problem(json: string | undefined, op: UpdateOp): readonly [string, string] {
  const { json: after, errors } = applyOps(json, [op], { atomic: false });
  expect(after).toBe(json);
  expect(errors).toHaveLength(1);
  expect(errors[0]?.op_index).toBe(0);
  return [errors[0]?.code ?? "", errors[0]?.message ?? ""];
}

describe("update operations", () => {
  it("treat a text as one literal member of the root, and an array as a way down, in every operation (gap 37)", () => {
    expect(apply('{"a":{"b":1}}', { type: "set", path: "a.b", value: 2 })).toBe('{"a":{"b":1},"a.b":2}');
    expect(apply('{"a":{"b":1}}', { type: "set", path: ["a", "b"], value: 2 })).toBe('{"a":{"b":2}}');
    expect(apply('{"a":{"b":1}}', { type: "increment", path: ["a", "b"], by: 2 })).toBe('{"a":{"b":3}}');
    expect(apply('{"a":{"b":1}}', { type: "decrement", path: ["a", "b"], by: 2 })).toBe('{"a":{"b":-1}}');
    expect(apply('{"a":{"b":[1]}}', { type: "append", path: ["a", "b"], value: 2 })).toBe('{"a":{"b":[1,2]}}');
    expect(apply('{"a":{"b":1,"c":2}}', { type: "remove", path: ["a", "b"] })).toBe('{"a":{"c":2}}');
    expect(apply('{"a":{"b":{"c":1}}}', { type: "merge", path: ["a", "b"], value: { d: 2 } })).toBe(
      '{"a":{"b":{"c":1,"d":2}}}',
    );
  });

  it("make the objects that are missing on the way, once they are sure to be done", () => {
    expect(apply("{}", { type: "set", path: ["a", "b", "c"], value: null })).toBe('{"a":{"b":{"c":null}}}');
    expect(apply(undefined, { type: "increment", path: ["a", "b"], by: 1 })).toBe('{"a":{"b":1}}');
    expect(apply("{}", { type: "append", path: ["a", "b"], value: "text" })).toBe('{"a":{"b":["text"]}}');
    expect(apply('{"a":1}', { type: "merge", path: ["a", "b"], value: { c: 2 } })).toBe('{"a":{"b":{"c":2}}}');
    expect(apply('{"a":[1]}', { type: "merge", path: ["a"], value: {} })).toBe('{"a":{}}');
    expect(apply("{}", { type: "remove", path: ["a", "b"] })).toBe("{}");
  });

  it("begin with an empty object, or on the root itself with nothing, where there is no item", () => {
    expect(apply(undefined, { type: "set", path: "a", value: 1 })).toBe('{"a":1}');
    expect(apply(undefined, { type: "set", path: "", value: [1] })).toBe("[1]");
    expect(apply(undefined, { type: "merge", path: "", value: {} })).toBe("{}");
    expect(apply(undefined, { type: "increment", path: "", by: 5 })).toBe("5");
    expect(apply(undefined, { type: "decrement", path: "", by: 5 })).toBe("-5");
    expect(apply(undefined, { type: "decrement", path: "", by: 0 })).toBe("0");
    expect(apply(undefined, { type: "append", path: "", value: 1 })).toBe("[1]");
    expect(apply(undefined, { type: "append", path: [], value: "a" })).toBe('"a"');
    expect(apply(undefined, { type: "remove", path: "" })).toBe("null");
    expect(apply(undefined, { type: "remove", path: "a" })).toBeUndefined();
  });

  it("append to arrays, to text, and to what is null or missing", () => {
    expect(apply('{"a":[[1]]}', { type: "append", path: "a", value: [2] })).toBe('{"a":[[1],[2]]}');
    expect(apply('{"a":"x"}', { type: "append", path: "a", value: "y" })).toBe('{"a":"xy"}');
    expect(apply('{"a":null}', { type: "append", path: "a", value: "y" })).toBe('{"a":"y"}');
    expect(apply("{}", { type: "append", path: "a", value: "y" })).toBe('{"a":"y"}');
    expect(apply('{"a":null}', { type: "append", path: "a", value: { b: 1 } })).toBe('{"a":[{"b":1}]}');
    expect(apply("null", { type: "append", path: "", value: 1 })).toBe("[1]");
  });

  it("do integer sums exactly and keep fractions that are there", () => {
    expect(apply("1.5", { type: "increment", path: "", by: 1 })).toBe("2.5");
    expect(apply("9007199254740993", { type: "increment", path: "", by: 1 })).toBe("9007199254740994");
    expect(apply("9007199254740991", { type: "increment", path: "", by: 2 })).toBe("9007199254740993");
    expect(apply("9223372036854775806", { type: "increment", path: "", by: 1 })).toBe("9223372036854775807");
    expect(apply("-9223372036854775807", { type: "decrement", path: "", by: 1 })).toBe("-9223372036854775808");
    expect(apply("1e+21", { type: "increment", path: "", by: 1 })).toBe("1e+21");
    expect(apply("2.50", { type: "increment", path: "", by: 1 })).toBe("3.5");
  });

  it("keep every digit of numbers elsewhere in the value", () => {
    const numbers =
      '[9007199254740993,-123456789012345678901234567890,1e400,-1E-400,0.10,-0,1.0,{"9007199254740993":"9007199254740993"},"\\"1e400"]';
    const at = { type: "increment", path: "n", by: 1 } as const;
    expect(apply(`{"big":${numbers},"n":1}`, at)).toBe(`{"big":${numbers},"n":2}`);
    expect(apply('{"big":9007199254740993,"n":true}', { type: "remove", path: "n" })).toBe('{"big":9007199254740993}');
    expect(apply('{"big":9007199254740993,"n":1}', { type: "merge", path: "", value: { m: "\\" } })).toBe(
      '{"big":9007199254740993,"n":1,"m":"\\\\"}',
    );
    expect(apply('{"big":1e400}', { type: "set", path: "big", value: 0 })).toBe('{"big":0}');
  });

  it("keep every digit of numbers that they bring", () => {
    const json = '{"n":[9007199254740993]}';
    const value: unknown = JSON.parse(json);
    expect(apply("{}", { type: "set", path: "a", value, json })).toBe(`{"a":${json}}`);
    expect(apply('{"a":[0]}', { type: "append", path: "a", value, json })).toBe(`{"a":[0,${json}]}`);
    expect(apply(undefined, { type: "append", path: "a", value, json })).toBe(`{"a":[${json}]}`);
    expect(apply('{"a":1}', { type: "merge", path: "", value, json })).toBe('{"a":1,"n":[9007199254740993]}');
    // An equal value changes nothing; a value with another digit does.
    expect(
      apply('{ "a": 9007199254740993}', { type: "set", path: "a", value: 2 ** 53, json: "9007199254740993" }),
    ).toBe('{ "a": 9007199254740993}');
    expect(apply('{"a":9007199254740992}', { type: "set", path: "a", value: 2 ** 53, json: "9007199254740993" })).toBe(
      '{"a":9007199254740993}',
    );
    // Later operations see it as a number.
    const big: UpdateOp = { type: "set", path: "", value: 2 ** 53, json: "9007199254740993" };
    expect(apply(undefined, big, { type: "increment", path: "", by: 1 })).toBe("9007199254740994");
    expect(applyOps(undefined, [big, { type: "append", path: "", value: "x" }], { atomic: true }).errors).toHaveLength(
      1,
    );
  });

  it("keep members with the names of prototypes that a value already has", () => {
    const json = '{"__proto__":{"a":1},"constructor":2,"n":9007199254740993}';
    expect(apply(json, { type: "set", path: "b", value: 1 })).toBe(`${json.slice(0, -1)},"b":1}`);
    expect(apply('{"toString":1}', { type: "increment", path: "toString", by: 1 })).toBe('{"toString":2}');
    expect(apply("{}", { type: "increment", path: "valueOf", by: 1 })).toBe('{"valueOf":1}');
  });

  it("give back the very text when they change nothing", () => {
    const json = '{ "a": [1, {"b": "\\u0041"}], "1": 0.10 }';
    for (const op of [
      { type: "set", path: "a", value: [1, { b: "A" }] },
      { type: "merge", path: "", value: { a: [1, { b: "A" }] } },
      { type: "merge", path: [], value: {} },
      { type: "increment", path: "2", by: 0 },
      { type: "remove", path: "b" },
      { type: "remove", path: ["b", "c"] },
    ] as const) {
      if (op.type === "increment") expect(apply('{"2": 7}', op)).toBe('{"2": 7}');
      else expect(apply(json, op)).toBe(json);
    }
  });

  it("leave the operations themselves as they were", () => {
    const ops: UpdateOp[] = [
      { type: "set", path: "a", value: { list: [] } },
      { type: "append", path: ["a", "list"], value: 1 },
      { type: "set", path: ["a", "list"], value: [] },
      { type: "append", path: ["a", "list"], value: { x: 1 } },
      { type: "merge", path: "", value: { b: { c: 1 } } },
      { type: "increment", path: ["b", "c"], by: 1 },
    ];
    const before = JSON.stringify(ops);
    expect(apply(undefined, ...ops)).toBe('{"a":{"list":[{"x":1}]},"b":{"c":2}}');
    expect(JSON.stringify(ops)).toBe(before);
  });

  it("change nothing when one of them fails, or do the others where that is asked for (gap 36)", () => {
    const ops: UpdateOp[] = [
      { type: "set", path: "a", value: 1 },
      { type: "increment", path: "text", by: 1 },
      { type: "append", path: "n", value: 1 },
      { type: "set", path: "b", value: 2 },
    ];
    const errors = [
      { op_index: 1, code: "increment.not_number", message: "Expected number at path 'text', got string." },
      {
        op_index: 2,
        code: "append.type_mismatch",
        message: "Cannot append at path 'n': target is number, expected array, string, null, or missing field.",
      },
    ];
    const json = '{"text":"x","n":1}';
    expect(applyOps(json, ops, { atomic: true })).toEqual({ json, errors });
    expect(applyOps(json, ops, { atomic: false })).toEqual({ json: '{"text":"x","n":1,"a":1,"b":2}', errors });
    expect(applyOps(undefined, [{ type: "remove", path: ["a", ""] }], { atomic: false }).json).toBeUndefined();
  });

  it.each([
    [
      "[1]",
      { type: "set", path: "a", value: 1 },
      "set.target_not_object",
      "Cannot set at path 'a': target is array, expected object.",
    ],
    [
      '{"a":null}',
      { type: "set", path: ["a", "b", "c"], value: 1 },
      "set.target_not_object",
      "Cannot set at path 'a.b.c': target is null, expected object.",
    ],
    [
      "1",
      { type: "append", path: "a", value: 1 },
      "append.target_not_object",
      "Cannot append at path 'a': target is number, expected object.",
    ],
    [
      "true",
      { type: "increment", path: "a", by: 1 },
      "increment.target_not_object",
      "Cannot increment at path 'a': target is boolean, expected object.",
    ],
    [
      '"x"',
      { type: "decrement", path: "a", by: 1 },
      "decrement.target_not_object",
      "Cannot decrement at path 'a': target is string, expected object.",
    ],
    [
      '{"a":1e400}',
      { type: "remove", path: ["a", "b"] },
      "remove.target_not_object",
      "Cannot remove at path 'a.b': target is number, expected object.",
    ],
    [
      "null",
      { type: "remove", path: "a" },
      "remove.target_not_object",
      "Cannot remove at path 'a': target is null, expected object.",
    ],
    [
      "[]",
      { type: "merge", path: "", value: {} },
      "merge.target_not_object",
      "Cannot merge at path 'root': target is array, expected object.",
    ],
    [
      "0",
      { type: "merge", path: ["a"], value: {} },
      "merge.target_not_object",
      "Cannot merge at path 'root': target is number, expected object.",
    ],
    [
      '{"a":"x"}',
      { type: "append", path: "a", value: {} },
      "append.type_mismatch",
      "Expected string append value at path 'a', got object.",
    ],
    [
      '"x"',
      { type: "append", path: "", value: null },
      "append.type_mismatch",
      "Expected string append value at path 'root', got null.",
    ],
    [
      '{"a":{"b":false}}',
      { type: "append", path: ["a", "b"], value: 1 },
      "append.type_mismatch",
      "Cannot append at path 'a.b': target is boolean, expected array, string, null, or missing field.",
    ],
    [
      '{"a":null}',
      { type: "increment", path: "a", by: 1 },
      "increment.not_number",
      "Expected number at path 'a', got null.",
    ],
    [
      "[]",
      { type: "decrement", path: "", by: 1 },
      "decrement.not_number",
      "Expected number at path 'root', got array.",
    ],
    [
      "9223372036854775807",
      { type: "increment", path: "", by: 1 },
      "increment.not_number",
      "Expected number at path 'root', got number.",
    ],
    [
      "-9223372036854775808",
      { type: "decrement", path: "", by: 1 },
      "decrement.not_number",
      "Expected number at path 'root', got number.",
    ],
    [
      "1e400",
      { type: "increment", path: "", by: 1 },
      "increment.not_number",
      "Expected number at path 'root', got number.",
    ],
    [
      "{}",
      { type: "set", path: Array(33).fill("a"), value: 1 },
      "set.path.too_deep",
      "Path depth 33 exceeds maximum of 32",
    ],
    [
      "{}",
      { type: "append", path: ["a", ""], value: 1 },
      "append.path.empty_segment",
      "Path contains an empty segment",
    ],
    ["{}", { type: "merge", path: [""], value: {} }, "merge.path.empty_segment", "Path contains an empty segment"],
    [
      "{}",
      { type: "increment", path: "é".repeat(129), by: 1 },
      "increment.path.segment_too_long",
      "Path segment of 258 bytes exceeds maximum of 256",
    ],
    [
      "{}",
      { type: "decrement", path: "__proto__", by: 1 },
      "decrement.path.proto_polluted",
      "Path segment '__proto__' is not allowed (prototype pollution).",
    ],
    [
      "{}",
      { type: "remove", path: ["a", "constructor"] },
      "remove.path.proto_polluted",
      "Path segment 'constructor' is not allowed (prototype pollution).",
    ],
    [
      "{}",
      { type: "set", path: "prototype", value: 1 },
      "set.path.proto_polluted",
      "Path segment 'prototype' is not allowed (prototype pollution).",
    ],
    ["{}", { type: "merge", path: "", value: [] }, "merge.value.not_an_object", "Merge value must be a JSON object"],
    [
      "{}",
      { type: "merge", path: "", value: Object.fromEntries(Array.from({ length: 1025 }, (_, index) => [index, 1])) },
      "merge.value.too_many_keys",
      "Merge value has 1025 top-level keys, exceeds maximum of 1024",
    ],
    [
      "{}",
      { type: "merge", path: "", value: nested(17) },
      "merge.value.too_deep",
      "Merge value JSON nesting depth 17 exceeds maximum of 16",
    ],
    [
      "{}",
      { type: "merge", path: "", value: JSON.parse('{"__proto__":1}') },
      "merge.value.proto_polluted",
      'Merge value top-level key "__proto__" is a prototype-pollution sink',
    ],
  ] satisfies readonly (readonly [string, UpdateOp, string, string])[])(
    "meeting %s, %j fails with %s",
    (json, op, code, message) => {
      expect(problem(json, op)).toEqual([code, message]);
    },
  );

  it("take paths, segments and merged values up to their limits", () => {
    expect(apply("{}", { type: "set", path: Array(32).fill("a"), value: 1 })).toContain('{"a":1}');
    expect(apply("{}", { type: "set", path: "x".repeat(256), value: 1 })).toHaveLength(262);
    expect(apply("{}", { type: "merge", path: "", value: nested(16) })).toContain("[]");
    expect(apply("{}", { type: "merge", path: "", value: { a: { constructor: 1 } } })).toBe('{"a":{"constructor":1}}');
  });

  it("handle a value of 10,000 levels without an overflow where they only pass it on", () => {
    let value: unknown = 1;
    for (let level = 0; level < 10_000; level++) value = [value];
    expect(problem("{}", { type: "merge", path: "", value: { a: value } })[0]).toBe("merge.value.too_deep");
  });
});

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels - 1; level++) value = [value];
  return { a: value };
}
