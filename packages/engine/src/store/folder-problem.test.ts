import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { lockDataFolder } from "./data-folder.ts";
import { openDatabaseFile } from "./database-file.ts";
import { folderProblem } from "./folder-problem.ts";

const root = mkdtempSync(join(tmpdir(), "svc-folder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const open = (file: string) => openDatabaseFile({ file, schema: ["CREATE TABLE t (a)"] });

it("finds nothing wrong with a folder that can be written into", () => {
  expect(folderProblem(root)).toBeUndefined();
});

it("names the file that stands where a folder is wanted, at any depth", () => {
  const file = join(root, "a-file");
  writeFileSync(file, "x");
  expect(folderProblem(file)).toBe(`${file} is a file, not a folder`);
  expect(folderProblem(join(file, "deeper"))).toBe(`${file} is a file, not a folder`);
  expect(() => open(join(file, "state.db"))).toThrow(
    `cannot be opened: ${file} is a file, not a folder; its folder must exist`,
  );
  expect(() => lockDataFolder(join(file, "data"))).toThrow(`cannot be used: ${file} is a file, not a folder`);
});

it("says that a folder does not exist", () => {
  const folder = join(root, "no", "where");
  expect(() => open(join(folder, "state.db"))).toThrow(
    `cannot be opened: the folder ${folder} does not exist; its folder must exist`,
  );
});
