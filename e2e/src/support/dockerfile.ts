import { readFileSync } from "node:fs";

/** One instruction: its word in capitals and the rest, lines joined. */
export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The stages of a Dockerfile, each from its FROM on. Comments are left out. */
export function readStages(file: string): readonly (readonly Instruction[])[] {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n")
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, word = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (word === "FROM") stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}
