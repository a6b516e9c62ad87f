import { describe, expect, it } from "vitest";
import { z } from "zod";
import { schemaOf } from "./lazy-schema.ts";

describe("a late schema", () => {
  it("is made when it is first asked for, and once", () => {
    let made = 0;
    const source = (): z.ZodString => {
      made++;
      return z.string();
    };
    expect(made).toBe(0);
    expect(schemaOf(source)).toBe(schemaOf(source));
    expect(made).toBe(1);
  });

  it("may as well be there already", () => {
    const schema = z.string();
    expect(schemaOf(schema)).toBe(schema);
  });
});
