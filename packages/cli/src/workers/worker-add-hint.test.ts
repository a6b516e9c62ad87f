import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { workerAddHint } from "./worker-add-hint.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-own-workers-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function putWorker(folder: string): void {
  mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, folder, "svc.worker.yaml"), "name: x\n");
}

it("lists the folders with a manifest, relative to the working directory", () => {
  for (const folder of ["workers/math worker", "workers/caller", "greeter"]) putWorker(folder);
  mkdirSync(join(dir, "workers/notes"));

  expect(workerAddHint(dir, join(dir, "config.yaml"))).toBe(
    "svc worker add ./workers/caller './workers/math worker' ./greeter",
  );
  expect(workerAddHint(join(dir, "greeter"), join(dir, "config.yaml"))).toContain(" ../workers/caller ");
});

it("lists no folder that does not exist", () => {
  expect(workerAddHint(dir, join(dir, "config.yaml"))).toBe("svc worker add FOLDER");
});
