import type { FieldTerm } from "@svc-runtime/protocol/query";
import { expect, it } from "vitest";
import { attrParam, termOfAttrParam } from "./attr-param.ts";

function field(name: string, op: FieldTerm["op"], value: string, negated = false): FieldTerm {
  return { kind: "field", field: name, op, value, negated, off: false };
}

it("keeps attributes in the address, including those with colons", () => {
  for (const term of [
    field("attr.a:b%", "equals", "x:y", true),
    field("resource.host", "contains", ""),
    field("attr.k", "exists", ""),
    field("attr.k", "like", "a*", true),
  ])
    expect(termOfAttrParam(attrParam(term))).toEqual(term);
  expect(termOfAttrParam("nonsense")).toBeUndefined();
});
