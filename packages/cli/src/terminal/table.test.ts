import { describe, expect, it } from "vitest";
import { table } from "./table.ts";

const ID = "0b0f6d1e-6f0a-4a9e-9d53-7d1f7a0c2a11";

it("accepts more rows than a call accepts arguments", () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index), "x"]);
  expect(table(["N", "X"], rows).slice(0, 22)).toBe("N       X\n0       x\n1 ");
});

describe("a table that is wider than the terminal", () => {
  it("never shortens whole columns, and shortens the first columns first", () => {
    const rows = [["a-worker-with-a-long-name", "local", "crash_looping", "math::add, math::subtract, math::multiply"]];
    const options = { whole: ["NAME", "STATE"], first: ["FUNCTIONS"] };
    const [, row = ""] = table(["NAME", "KIND", "STATE", "FUNCTIONS"], rows, { ...options, columns: 63 }).split("\n");

    expect(row).toBe("a-worker-with-a-long-name  local  crash_looping  math::add, ma…");
    expect(table(["NAME", "KIND", "STATE", "FUNCTIONS"], rows, { ...options, columns: 50 })).toBe(
      "NAME                       KIND   STATE\na-worker-with-a-long-name  local  crash_looping\n",
    );
  });

  it("gives the space of an omitted column to shortened ones", () => {
    const rows = [["abcdefghijkl", "mnopqrstuvwxyz", "1234567890"]];
    expect(table(["ID", "TEXT", "MORE"], rows, { columns: 30, whole: ["ID"], first: ["MORE"] })).toContain(
      "abcdefghijkl  mnopqrstuvwxyz\n",
    );
  });

  it("prints one column below its rows, wrapped at words", () => {
    const rows = [
      [ID, "orders::fail", "the warehouse did not answer within its deadline of five seconds, so nothing was sent"],
      [ID, "orders::note", ""],
    ];
    const text = table(["JOB", "FUNCTION", "ERROR"], rows, { columns: 60, whole: ["JOB"], below: "ERROR" });

    expect(text).toBe(
      [
        `JOB${" ".repeat(35)}FUNCTION`,
        `${ID}  orders::fail`,
        "    the warehouse did not answer within its deadline of five",
        "    seconds, so nothing was sent",
        `${ID}  orders::note`,
        "",
      ].join("\n"),
    );
    expect(table(["JOB", "FUNCTION", "ERROR"], rows, { below: "ERROR" })).toContain("orders::fail  the warehouse");
  });

  it("limits the lines below a row", () => {
    const text = table(["A", "B"], [["a", "word ".repeat(1_000)]], { columns: 40, below: "B" });
    expect(text.split("\n")).toHaveLength(6);
    expect(text).toContain("word …\n");
  });
});
