import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

/** Removes the comment marker of each line between the two block comments, as the template asks its reader to do. */
export function uncomment(file: string, marker: string, from: string, to: string): void {
  const lines = readFileSync(file, "utf8").split("\n");
  const first = lines.findIndex((line) => line.includes(from));
  const last = lines.findLastIndex((line) => line.includes(to));
  expect(first).toBeGreaterThan(-1);
  expect(last).toBeGreaterThan(first);
  const opened = lines.map((line, at) =>
    at > first && at < last ? line.replace(new RegExp(`^(\\s*)${marker} `), "$1") : line,
  );
  writeFileSync(file, opened.join("\n"));
}

/** Replaces a text that occurs exactly once. */
export function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, "utf8");
  expect(text.split(from)).toHaveLength(2);
  writeFileSync(
    file,
    text.replace(from, () => to),
  );
}
