import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { quoteWord } from "./shell-word.ts";

it.each([["math::add"], ["./a/b-c.py"], ["--force"], ["a=1"], ["me@example.com"]])("leaves %s as it is", (word) => {
  expect(quoteWord(word)).toBe(word);
});

it.each([
  [""],
  ["it's"],
  ["a b"],
  ["$HOME"],
  ["`id`"],
  ["a\nb"],
  ["=x"],
  ["~"],
  ["{a,b}"],
  ["a;b"],
  ["*"],
  ["#"],
  ["!"],
  ['"\\'],
])("writes %j so that a shell reads the same word", (word) => {
  expect(spawnSync("sh", ["-c", `printf %s ${quoteWord(word)}`], { encoding: "utf8" }).stdout).toBe(word);
  expect(quoteWord(word)).toMatch(/^'/);
});
