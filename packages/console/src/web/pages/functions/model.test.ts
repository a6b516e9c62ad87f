import { describe, expect, it } from "vitest";
import { parseJson } from "../../lib/json.ts";
import { type FunctionItem, prefixOf } from "../../model/functions.ts";
import { jsonDiff } from "./history/json-diff.ts";
import { filterFunctions, groupRows, nodesOf, triggerSummary } from "./model.ts";
import { schemaFields } from "./schema-fields.ts";

function item(function_id: string, change: Partial<FunctionItem> = {}): FunctionItem {
  return {
    function_id,
    description: null,
    request_format: null,
    response_format: null,
    metadata: null,
    validated: false,
    format_problem: null,
    status: "available",
    internal: false,
    worker_name: "w",
    workers: [{ id: "1", name: "w" }],
    triggers: [],
    ...change,
  };
}

const two = {
  workers: [
    { id: "1", name: "a" },
    { id: "2", name: "b" },
  ],
};
const items = [
  item("math::add", two),
  item("math::sub"),
  item("ping", { description: "Says Pong" }),
  item("engine::x", { internal: true }),
];

describe("the list of functions", () => {
  it("is searched by ID, description and workers, in any word order, with system functions on request", () => {
    const find = (q: string, more: object = {}) =>
      filterFunctions(items, { q, worker: undefined, system: false, ...more }, new Set(["m"])).map(
        ({ function_id }) => function_id,
      );
    expect(find("")).toEqual(["math::add", "math::sub", "ping"]);
    expect(find("PONG")).toEqual(["ping"]);
    expect(find("b math")).toEqual(["math::add", "math::sub"]);
    expect(find("", { worker: "a" })).toEqual(["math::add"]);
    expect(find("engine", { system: true })).toEqual(["engine::x"]);
  });

  it("is filtered by the engine of a worker, in a cluster", () => {
    const at = (id: string, ...nodes: readonly string[]): FunctionItem =>
      item(id, { workers: nodes.map((node) => ({ id: `${id} ${node}`, name: "w", node })) });
    const find = (q: string): readonly string[] =>
      filterFunctions(
        [at("f", "a", "b"), at("g", "b"), item("h")],
        { q, worker: undefined, system: false },
        new Set(),
      ).map(({ function_id }) => function_id);
    expect([find("node:a"), find("node:B"), find("g node:b"), find("node:c")]).toEqual([["f"], ["f", "g"], ["g"], []]);
    expect(nodesOf(at("f", "b", "a", "b"))).toEqual(["a", "b"]);
  });

  it("includes functions of modules only on request, but always those that a worker also provides", () => {
    const built = item("state::get", { workers: [{ id: "m", name: "svc-state" }] });
    const both = item("state::set", {
      workers: [
        { id: "m", name: "svc-state" },
        { id: "1", name: "a" },
      ],
    });
    const find = (system: boolean) =>
      filterFunctions([built, both], { q: "", worker: undefined, system }, new Set(["m"])).map(
        ({ function_id }) => function_id,
      );
    expect(find(false)).toEqual(["state::set"]);
    expect(find(true)).toEqual(["state::get", "state::set"]);
  });

  it("is grouped by prefix or by worker; a function is in the group of each of its workers", () => {
    const names = (by: "prefix" | "worker", closed: readonly string[] = []) =>
      groupRows(items, by, new Set(closed)).map((row) =>
        row.kind === "group" ? `${row.name} ${row.count}` : row.item.function_id,
      );
    expect(names("prefix")).toEqual([" 1", "ping", "engine 1", "engine::x", "math 2", "math::add", "math::sub"]);
    expect(names("prefix", ["math"]).at(-1)).toBe("math 2");
    expect(names("worker")).toEqual(["a 1", "math::add", "b 1", "math::add", "w 3", "math::sub", "ping", "engine::x"]);
    expect([prefixOf("a::b::c"), prefixOf("a.b.c"), prefixOf("plain")]).toEqual(["a::b", "a", ""]);
  });

  it("lists groups of modules last", () => {
    const rows = groupRows(
      [item("a::x", { workers: [{ id: "m", name: "svc-state" }] }), item("z::x")],
      "prefix",
      new Set(),
      new Set(["m"]),
    );
    expect(rows.flatMap((row) => (row.kind === "group" ? [row.name] : []))).toEqual(["z", "a"]);
  });

  it("shows number and types of triggers", () => {
    expect(triggerSummary([])).toBe("None");
    expect(
      triggerSummary([
        { id: "1", type: "http" },
        { id: "2", type: "cron" },
        { id: "3", type: "http" },
      ]),
    ).toBe("3 · cron, http");
  });
});

it("lists the members of a schema, of its objects and of its array items", () => {
  const schema = {
    type: "object",
    required: ["a"],
    properties: {
      a: {
        type: "array",
        items: { type: "object", properties: { b: { type: "string", default: "x", maxLength: 3 } } },
      },
    },
  };
  expect(schemaFields(schema)).toMatchObject([
    { path: "a", type: "array of object", required: true },
    { path: "a[].b", type: "string", required: false, default: '"x"', constraints: ["at most 3 characters"] },
  ]);
  expect(schemaFields({ type: "object", properties: { me: { $ref: "#" } } }).length).toBeLessThan(20);
});

it("returns the differences between two values, with all digits", () => {
  const diff = (a: string, b: string) => jsonDiff(parseJson(a), parseJson(b));
  expect(diff('{"a":1,"b":[1,2]}', '{"b":[1,2],"a":1}')).toEqual([]);
  expect(diff("9007199254740993", "9007199254740992")).toMatchObject([{ path: "$", kind: "changed" }]);
  expect(diff('{"a":{"x y":1},"l":[1]}', '{"a":{},"l":[1,null]}')).toEqual([
    { path: '$.a["x y"]', kind: "removed", before: "1" },
    { path: "$.l[1]", kind: "added", after: "null" },
  ]);
  expect(diff("[]", "{}")).toMatchObject([{ kind: "changed", before: "[]", after: "{}" }]);
  expect(jsonDiff(undefined, null)).toEqual([{ path: "$", kind: "added", after: "null" }]);
});
