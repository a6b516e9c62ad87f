import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { git, gitOrUndefined } from "./git.mjs";
import { installHooks } from "./install-hooks.mjs";

const ENV = {};

async function temporaryFolder() {
  return await mkdtemp(join(tmpdir(), "svc-hooks-"));
}

async function clone() {
  const folder = await temporaryFolder();
  await git(folder, ["init", "--quiet"]);
  return folder;
}

/** Installs the hooks and resolves with the notes. */
async function install(folder, env = ENV) {
  const notes = [];
  await installHooks(folder, { note: (line) => notes.push(line), env });
  return notes;
}

const hooksPath = (folder) => gitOrUndefined(folder, ["config", "--local", "--get", "core.hooksPath"]);

it("sets the hooks path of a clone, once", async () => {
  const folder = await clone();
  expect(await install(folder)).toEqual([expect.stringContaining("git runs the hooks in scripts/hooks")]);
  expect(await hooksPath(folder)).toBe("scripts/hooks");
  expect(await install(folder)).toEqual([]);
});

it("does not change another hooks path", async () => {
  const folder = await clone();
  await git(folder, ["config", "core.hooksPath", "my/hooks"]);
  expect(await install(folder)).toEqual([]);
  expect(await hooksPath(folder)).toBe("my/hooks");
});

it("does nothing in a clone that has hooks; samples do not count", async () => {
  const folder = await clone();
  await mkdir(join(folder, ".git/hooks"), { recursive: true });
  const hook = join(folder, ".git/hooks/pre-commit");
  await writeFile(`${hook}.sample`, "");
  await writeFile(hook, "#!/bin/sh\n");
  expect(await install(folder)).toEqual([]);
  expect(await hooksPath(folder)).toBeUndefined();
});

it.each(["true", "1"])("does nothing on a CI system (CI=%s)", async (CI) => {
  const folder = await clone();
  expect(await install(folder, { CI })).toEqual([]);
  expect(await hooksPath(folder)).toBeUndefined();
});

it("does nothing in an unpacked archive, nor in one inside another clone", async () => {
  const folder = await clone();
  const inside = join(folder, "vendor/svc");
  await mkdir(inside, { recursive: true });
  expect(await install(inside)).toEqual([]);
  expect(await hooksPath(folder)).toBeUndefined();
  expect(await install(await temporaryFolder())).toEqual([]);
});

it("does nothing in a linked worktree", async () => {
  const folder = await clone();
  await git(folder, [
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@example.org",
    "commit",
    "--quiet",
    "--allow-empty",
    "-m",
    "first",
  ]);
  const tree = join(await temporaryFolder(), "tree");
  await git(folder, ["worktree", "add", "--quiet", "--detach", tree]);
  expect(await install(tree)).toEqual([]);
  expect(await hooksPath(folder)).toBeUndefined();
});

it("never fails, even if git cannot write its configuration", async () => {
  const folder = await clone();
  await writeFile(join(folder, ".git/config.lock"), "");
  await chmod(join(folder, ".git/config.lock"), 0o400);
  expect(await install(folder)).toEqual([]);
});
