import { describe, expect, it } from "vitest";
import { ComponentSchemas } from "./component-schemas.ts";

const to = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

describe("the components of an OpenAPI document", () => {
  it("contain what formats refer to, once if formats agree, under different names if they do not", () => {
    const components = new ComponentSchemas({ Error: { type: "object" } });
    const format = (line: object): object => ({ items: { $ref: "#/$defs/Line" }, $defs: { Line: line } });
    expect(components.moved(format({ type: "string" }))).toEqual({ items: to("Line") });
    expect(components.moved(format({ type: "number" }))).toEqual({ items: to("Line2") });
    expect(components.moved(format({ type: "string" }))).toEqual({ items: to("Line") });
    expect(components.moved(format({ type: "number" }))).toEqual({ items: to("Line2") });
    expect(components.moved({ $ref: "#/definitions/Error", definitions: { Error: { type: "string" } } })).toEqual(
      to("Error2"),
    );
    expect(components.schemas).toEqual({
      Error: { type: "object" },
      Line: { type: "string" },
      Line2: { type: "number" },
      Error2: { type: "string" },
    });
  });

  it("contain recursive schemas, and places of a format that are no definitions", () => {
    const components = new ComponentSchemas({});
    const tree = { title: "A tree", type: "object", properties: { left: { $ref: "#" } } };
    expect(components.moved(tree)).toEqual({ ...tree, properties: { left: to("A_tree") } });
    expect(components.schemas.A_tree).toEqual({ ...tree, properties: { left: to("A_tree") } });
    expect(components.moved({ properties: { "a/b": { type: "string" }, b: { $ref: "#/properties/a~1b" } } })).toEqual({
      properties: { "a/b": { type: "string" }, b: to("a_1b") },
    });
  });

  it("lack references that lead nowhere or elsewhere, which then describe nothing", () => {
    const components = new ComponentSchemas({});
    for (const ref of ["#/$defs/x", "#x", "#/%", "https://example.com/x", "#/constructor", "#/type"])
      expect(components.moved({ type: "array", items: { $ref: ref } })).toEqual({ type: "array", items: {} });
    for (const format of [null, undefined, true, "nonsense", []]) expect(components.moved(format)).toBe(format);
    expect(components.schemas).toEqual({});
  });

  it("follow long chains of references", () => {
    const length = 5_000;
    const link = (number: number): [string, object] => [`d${number}`, { items: { $ref: `#/$defs/d${number + 1}` } }];
    const $defs = Object.fromEntries(Array.from({ length }, (_, number) => link(number)));
    const components = new ComponentSchemas({});
    components.moved({ $ref: "#/$defs/d0", $defs });
    expect(Object.keys(components.schemas)).toHaveLength(length);
  });
});
