import { expect, it } from "vitest";
import { table } from "./table.ts";

it("takes more rows than a call takes arguments", () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index), "x"]);
  expect(table(["N", "X"], rows).slice(0, 22)).toBe("N       X\n0       x\n1 ");
});
