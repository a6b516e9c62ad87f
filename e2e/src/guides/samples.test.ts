import { expect, it } from "vitest";
import { samplesOf } from "./samples.ts";

const fence = "```";

it("finds the marked blocks of a guide, and joins those with the same name", () => {
  const guide = [
    "text",
    "<!-- sample: one -->",
    `${fence}ts`,
    "const a = 1;",
    fence,
    `${fence}ts`,
    "not marked",
    fence,
    "<!-- sample: two -->",
    "",
    `${fence}python`,
    "print(1)",
    fence,
    "<!-- sample: one -->",
    `${fence}ts`,
    "const b = a;",
    fence,
    "",
  ].join("\n");
  expect([...samplesOf(guide).values()]).toEqual([
    { name: "one", language: "ts", code: "const a = 1;\n\nconst b = a;\n" },
    { name: "two", language: "python", code: "print(1)\n" },
  ]);
});

it("rejects a mark without a block", () => {
  expect(() => samplesOf("<!-- sample: lost -->\n\nJust text.\n")).toThrow("before no fenced block");
});
