import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readBoundedFile } from "./bounded-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-bounded-file-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("reads a file of up to the limit", async () => {
  writeFileSync(join(folder, "a"), "äb");
  expect(await readBoundedFile(join(folder, "a"), 3)).toBe("äb");
  await expect(readBoundedFile(join(folder, "a"), 2)).rejects.toThrow("it has 3 bytes; at most 2 are read");
});

it("reads no device, which never ends, and no folder", async () => {
  symlinkSync("/dev/zero", join(folder, "zero"));
  for (const path of [join(folder, "zero"), folder])
    await expect(readBoundedFile(path, 100)).rejects.toThrow("it is not a regular file");
});
