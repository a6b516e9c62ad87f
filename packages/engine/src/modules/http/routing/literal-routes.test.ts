import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binding } from "../testing/bound-route.ts";
import { RouteTable } from "./routes.ts";

const segment = fc.constantFrom("a", "b", ":id", ":p0", "%3Ap0", "a:b");
const routePath = fc
  .tuple(fc.array(segment, { maxLength: 2 }), fc.constantFrom("", "/*rest"))
  .map(([segments, tail]) => `/${segments.join("/")}${tail}`.replace("//", "/"));
const method = fc.constantFrom("GET", "POST");
const requested = fc
  .array(fc.constantFrom("a", "b", ":id", ":p0", "*", "a:b", "::", ""), { maxLength: 3 })
  .map((segments) => `/${segments.join("/")}`);

/** Returns another spelling of the path, which is found segment by segment. */
function encoded(path: string): string {
  return path.replace(/[^/]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

describe("a route without parameters", () => {
  it("is found by its path exactly when a search by segments finds it", () => {
    const routes = fc.array(fc.tuple(method, routePath, fc.boolean(), fc.boolean()), { maxLength: 6 });
    fc.assert(
      fc.property(routes, method, fc.array(requested, { minLength: 1, maxLength: 5 }), (given, asked, paths) => {
        const table = new RouteTable();
        for (const [index, [of, path, isAway, hasLeft]] of given.entries()) {
          let bound: ReturnType<typeof binding>;
          try {
            bound = binding(`f::${index}`, path, { method: of as "GET" });
            const remove = table.add(bound);
            bound.setAway(isAway);
            if (hasLeft) remove();
          } catch {
            // Not a valid route: two parameters of one name.
          }
        }
        for (const path of paths) expect(table.match(asked, path)).toEqual(table.match(asked, encoded(path)));
      }),
      { numRuns: 500 },
    );
  });
});
