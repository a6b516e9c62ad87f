import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyOps } from "./apply-ops.ts";
import type { UpdateOp, UpdatePath } from "./update-op.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const name = fc.constantFrom("a", "b", "c", "a.b", "toString");
const path: fc.Arbitrary<UpdatePath> = fc.oneof(fc.constant(""), name, fc.array(name, { maxLength: 3 }));
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, "", "x"),
    fc.integer({ min: -3, max: 3 }),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const by = fc.integer({ min: -3, max: 3 });
const op: fc.Arbitrary<UpdateOp> = fc.oneof(
  fc.record({ type: fc.constant("set" as const), path, value }),
  fc.record({ type: fc.constant("merge" as const), path, value }),
  fc.record({ type: fc.constant("increment" as const), path, by }),
  fc.record({ type: fc.constant("decrement" as const), path, by }),
  fc.record({ type: fc.constant("append" as const), path, value }),
  fc.record({ type: fc.constant("remove" as const), path }),
);

const FAILED = Symbol("failed");
type Root = Json | undefined;

/** Reference implementation of one operation, without mutation, in the order of the specification. */
function model(root: Root, each: UpdateOp): Root | typeof FAILED {
  const segments = typeof each.path === "string" ? (each.path === "" ? [] : [each.path]) : each.path;
  if (each.type === "merge") {
    const merged = each.value as Json;
    if (!isObject(merged) || (root !== undefined && !isObject(root))) return FAILED;
    return descend(root ?? {}, segments, (target) => ({ ...(isObject(target) ? target : {}), ...merged }), true);
  }
  if (each.type === "remove" && segments.length > 0) {
    const parent = segments
      .slice(0, -1)
      .reduce<Root>(
        (at, segment) => (isObject(at) && Object.hasOwn(at, segment) ? at[segment] : isObject(at) ? undefined : at),
        root,
      );
    if (parent === undefined) return root;
    if (!isObject(parent)) return FAILED;
    const last = segments[segments.length - 1] ?? "";
    return descend(
      root,
      segments.slice(0, -1),
      (target) => Object.fromEntries(Object.entries(target ?? {}).filter(([key]) => key !== last)),
      false,
    );
  }
  return descend(root, segments, (old) => leaf(old, each, segments.length > 1), false);
}

function descend(
  at: Root,
  segments: readonly string[],
  make: (old: Root) => Root | typeof FAILED,
  replace: boolean,
): Root | typeof FAILED {
  const [first, ...rest] = segments;
  if (first === undefined) return make(at);
  if (at !== undefined && !isObject(at) && !replace) return FAILED;
  const object = isObject(at) ? at : {};
  const below = descend(Object.hasOwn(object, first) ? object[first] : undefined, rest, make, replace);
  return below === FAILED ? FAILED : ({ ...object, [first]: below } as Json);
}

function leaf(old: Root, each: UpdateOp, nested: boolean): Root | typeof FAILED {
  switch (each.type) {
    case "set":
      return each.value as Json;
    case "increment":
    case "decrement": {
      const sign = each.type === "increment" ? 1 : -1;
      if (old !== undefined && typeof old !== "number") return FAILED;
      return (old ?? 0) + sign * each.by;
    }
    case "append": {
      const added = each.value as Json;
      if (Array.isArray(old)) return [...old, added];
      if (typeof old === "string") return typeof added === "string" ? old + added : FAILED;
      if (old !== undefined && old !== null) return FAILED;
      return typeof added === "string" && !(old === undefined && nested) ? added : [added];
    }
    default:
      return null;
  }
}

function isObject(some: unknown): some is { readonly [name: string]: Json } {
  return typeof some === "object" && some !== null && !Array.isArray(some);
}

const start = fc.option(value, { nil: undefined });

describe("update operations, compared with a simple model", () => {
  it("give the model's value and fail where it fails", () => {
    fc.assert(
      fc.property(start, fc.array(op, { minLength: 1, maxLength: 6 }), (initial, ops) => {
        let root: Root = initial;
        const failing: number[] = [];
        ops.forEach((each, index) => {
          const next = model(root, each);
          if (next === FAILED) failing.push(index);
          else root = next;
        });
        const json = initial === undefined ? undefined : JSON.stringify(initial);
        const applied = applyOps(json, ops, { atomic: false });
        expect(applied.errors.map((error) => error.op_index)).toEqual(failing);
        expect(applied.json === undefined ? undefined : JSON.parse(applied.json)).toEqual(root);
        const atomic = applyOps(json, ops, { atomic: true });
        expect(atomic.errors).toEqual(applied.errors);
        expect(atomic.json).toBe(failing.length > 0 ? json : applied.json);
      }),
      { numRuns: 100 },
    );
  });

  it("leave all digits of other members as they are, whatever number they are of", () => {
    const digits = fc.stringMatching(/^[0-9]{1,30}$/);
    const number = fc
      .tuple(
        fc.constantFrom("", "-"),
        digits,
        fc.option(digits, { nil: "" }),
        fc.constantFrom("", "e400", "E-7", "e+3"),
      )
      .map(
        ([sign, whole, fraction, exponent]) =>
          `${sign}${whole.replace(/^0+(?=\d)/, "")}${fraction === "" ? "" : `.${fraction}`}${exponent}`,
      );
    const text = fc.string({ unit: character }).map((some) => JSON.stringify(some));
    fc.assert(
      fc.property(fc.array(fc.oneof(number, text), { minLength: 1 }), (members) => {
        const kept = `[${members.join(",")}]`;
        expect(
          applyOps(`{"kept":${kept},"n":1}`, [{ type: "increment", path: "n", by: 1 }], { atomic: true }).json,
        ).toBe(`{"kept":${kept},"n":2}`);
      }),
      { numRuns: 100 },
    );
  });
});
