import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { quotedWord, shellWord } from "./shell-word.ts";

const WORDS = ["plain", "a=1", "=ls", "it's", "two words", "$HOME", "`id`", '{"a":1}', "~", "*", ""];

it.each(WORDS)("quotes %j so that a shell reads it unchanged", (word) => {
  const read = (written: string): string => execFileSync("sh", ["-c", `printf %s ${written}`], { encoding: "utf8" });
  expect(read(quotedWord(word))).toBe(word);
  expect(read(shellWord(word))).toBe(word);
});

it("does not quote a word that needs no quotes, except one that zsh would read as a path", () => {
  expect(shellWord("http://localhost:3111")).toBe("http://localhost:3111");
  expect(shellWord("=ls")).toBe("'=ls'");
});
