import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

const source = fileURLToPath(new URL("../packages/cli/bin/current-bundle.js", import.meta.url));
/** Packages whose code the bundle contains. */
const PACKAGES = ["cli", "console", "engine", "observability", "sdk", "protocol"];

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "svc-bundle-"));
  mkdirSync(join(root, "packages/cli/bin"), { recursive: true });
  copyFileSync(source, join(root, "packages/cli/bin/current-bundle.js"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function isCurrent() {
  const { bundleIsCurrent } = await import(pathToFileURL(join(root, "packages/cli/bin/current-bundle.js")).href);
  return bundleIsCurrent();
}

function write(path, modifiedAt) {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, "");
  utimesSync(file, modifiedAt, modifiedAt);
}

it("the bundle of an installed package is current, whatever the dates of its files", async () => {
  write("packages/cli/dist/main.js", 200);
  expect(await isCurrent()).toBe(false);
  write("packages/cli/bundle/main.js", 100);
  expect(await isCurrent()).toBe(true);
});

it("the bundle of a clone is current unless a package was built or installed since, or is not built", async () => {
  mkdirSync(join(root, "packages/cli/src"));
  write("packages/cli/bundle/main.js", 100);
  expect(await isCurrent()).toBe(false);
  for (const name of PACKAGES) write(`packages/${name}/dist/.tsbuildinfo`, 100);
  expect(await isCurrent()).toBe(true);
  write("packages/sdk/dist/.tsbuildinfo", 101);
  expect(await isCurrent()).toBe(false);
});
