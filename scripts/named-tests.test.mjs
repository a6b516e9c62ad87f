import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./steps.mjs";
import { testFiles } from "./test-selection.mjs";

const read = (file) => readFileSync(join(root, file), "utf8");

/** True if a test with exactly this title is in the source of the file. */
const hasTest = (source, title) =>
  ['"', "'", "`"].some(
    (quote) => source.includes(`it(${quote}${title}${quote}`) || source.includes(`)(${quote}${title}${quote}`),
  );

describe("docs/guide/security.md", () => {
  const text = read("docs/guide/security.md");
  const listed = [...text.matchAll(/^- (T\d+) `([^`]+)`: "(.+)"$/gm)].map(([, id, file, title]) => ({
    id,
    file,
    title,
  }));

  it("names tests that exist, with their titles", () => {
    expect(listed.length).toBeGreaterThan(30);
    expect(listed.filter(({ file, title }) => !hasTest(read(file), title))).toEqual([]);
  });

  it("lists each test once, and each that the tables name", () => {
    const ids = listed.map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, at) => `T${at + 1}`));
    const named = new Set([...text.matchAll(/\[(T\d+)\]/g)].map(([, id]) => id));
    expect([...named].sort()).toEqual([...ids].sort());
  });
});

describe("docs/guarantees.md", () => {
  it("names tests that exist, by a part of their titles", async () => {
    const files = await testFiles();
    const cells = [...read("docs/guarantees.md").matchAll(/^\|.*`[\w./-]+\.test\.tsx?`.*$/gm)].map(([row]) => row);
    const named = cells.flatMap((row) =>
      [...row.matchAll(/`([\w./-]+\.test\.tsx?)`(?:, "([^"]+)")?/g)].map(([, file, title]) => ({ file, title })),
    );
    expect(named.length).toBeGreaterThan(8);
    const missing = named.filter(({ file, title }) => {
      const found = files.filter((known) => known === file || known.endsWith(`/${file}`) || basename(known) === file);
      return !found.some((known) => title === undefined || read(known).includes(title));
    });
    expect(missing).toEqual([]);
  });
});
