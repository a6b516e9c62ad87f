import pc from "picocolors";
import { expect, it } from "vitest";
import { Prefixes } from "./worker-prefix.ts";

const paint = pc.createColors(true);

it("gives each worker one colour, for all its processes and in any order of the names", () => {
  const prefixes = new Prefixes(paint, { names: ["till", "shop"], others: ["engine"] });
  expect(prefixes.of("shop", "|")).toBe(paint.cyan("shop   | "));
  expect(prefixes.of("till", "|")).toBe(paint.yellow("till   | "));
  expect(prefixes.of("engine", "|")).toBe(paint.gray("engine | "));
  expect(prefixes.of("shop#2", "!")).toBe(paint.cyan("shop#2 ! "));
  expect(prefixes.of("added", "|")).toBe(paint.green("added  | "));
});
