import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("the README's samples are, in order, the program that the type checker checks", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const samples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, sample]) => sample);
  const program = readFileSync(new URL("../src/readme.test.support.ts", import.meta.url), "utf8");
  expect(program.slice(program.indexOf("import "))).toBe(samples.join("\n"));
});
