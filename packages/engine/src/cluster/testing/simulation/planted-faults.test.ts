import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PLANTED_FAULTS } from "./planted-faults.ts";

it.each(PLANTED_FAULTS)("the text that is replaced occurs once: $name", ({ file, text }) => {
  const compiled = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
  expect(compiled.split(text).length - 1).toBe(1);
});
