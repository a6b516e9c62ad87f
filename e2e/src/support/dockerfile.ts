import { readFileSync } from "node:fs";

/** One instruction: its keyword in capitals and the rest, with continued lines joined. */
export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** Returns the stages of a Dockerfile, each starting with its FROM. Comments are skipped. */
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
