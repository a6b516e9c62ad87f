import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { commitsBetween, defaultBase, pushedCommits } from "./check-commits.mjs";
import { environmentWithoutRepository, git } from "./git.mjs";
import { root } from "./steps.mjs";

const program = join(root, "scripts/check-commits.mjs");
const ZERO = "0".repeat(40);

const MANIFEST = {
  name: "tiny",
  version: "1.0.0",
  private: true,
  workspaces: ["member"],
  scripts: { build: "node build.mjs", "test:unit": "node test.mjs" },
};
const MEMBER = { name: "member", version: "1.0.0", type: "module", exports: "./index.js" };
const LOCK = {
  name: "tiny",
  version: "1.0.0",
  lockfileVersion: 3,
  requires: true,
  packages: {
    "": { name: "tiny", version: "1.0.0", workspaces: ["member"] },
    member: { version: "1.0.0" },
    "node_modules/member": { resolved: "member", link: true },
  },
};
/** Files of a repository whose build and tests are quick. */
const FILES = {
  ".gitignore": "node_modules\nbuilt\n",
  "package.json": JSON.stringify(MANIFEST),
  "package-lock.json": JSON.stringify(LOCK),
  "member/package.json": JSON.stringify(MEMBER),
  "member/index.js": "export const value = 'committed';\n",
  "build.mjs":
    "import { mkdirSync, writeFileSync } from 'node:fs'; mkdirSync('built', { recursive: true }); writeFileSync('built/build', '');\n",
  "test.mjs": "",
};

async function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function commit(folder, subject, files) {
  await write(folder, files);
  await git(folder, ["add", "--all"]);
  await git(folder, [
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@example.org",
    "commit",
    "--quiet",
    "--allow-empty",
    "--no-verify",
    "-m",
    subject,
  ]);
  return await git(folder, ["rev-parse", "HEAD"]);
}

/**
 * Makes the repository with one commit and installed packages. `temporary` is the folder for temporary files of the
 * program.
 */
async function tinyRepository() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "svc-tiny-")));
  const folder = join(base, "repository");
  const temporary = join(base, "temporary");
  await mkdir(folder);
  await mkdir(temporary);
  await git(folder, ["init", "--quiet", "--initial-branch=main"]);
  const first = await commit(folder, "First", FILES);
  await mkdir(join(folder, "node_modules/outside"), { recursive: true });
  await symlink("../member", join(folder, "node_modules/member"));
  await write(folder, {
    "node_modules/.package-lock.json": "{}",
    "node_modules/outside/package.json": JSON.stringify({ name: "outside", type: "module", exports: "./index.js" }),
    "node_modules/outside/index.js": "export const isThere = true;\n",
  });
  return { folder, temporary, first };
}

function environment({ temporary }) {
  return {
    ...environmentWithoutRepository(),
    TMPDIR: temporary,
    npm_config_cache: join(temporary, "..", "npm-cache"),
    npm_config_update_notifier: "false",
  };
}

async function check(repository, args = [repository.first]) {
  const options = { cwd: repository.folder, env: environment(repository) };
  const { code = 0, stderr } = await promisify(execFile)(process.execPath, [program, ...args], options).catch(
    (error) => error,
  );
  return { code, stderr };
}

async function expectNothingLeft({ folder, temporary }) {
  expect(await readdir(temporary)).toEqual([]);
  expect((await git(folder, ["worktree", "list"])).split("\n")).toHaveLength(1);
}

describe("npm run check:commits", () => {
  it("passes when every commit builds and passes its tests, and leaves nothing behind", async () => {
    const repository = await tinyRepository();
    await commit(repository.folder, "Second", { second: "" });
    await commit(repository.folder, "Third", {
      "test.mjs": "import { statSync } from 'node:fs'; statSync('built/build'); statSync('second');\n",
    });
    const { code, stderr } = await check(repository);
    expect(stderr).toMatch(/^Checking 2 commits in [0-9a-f]+\.\.HEAD$/m);
    expect(stderr).toMatch(/^\[1\/2\] [0-9a-f]+ Second … .* s \(packages of this clone\)$/m);
    expect(stderr).toMatch(/^\[2\/2\] [0-9a-f]+ Third … .* s \(packages of the previous commit\)$/m);
    expect(code).toBe(0);
    await expectNothingLeft(repository);
  });

  it("stops at the first commit that fails and names it, although a later one fixes it", async () => {
    const repository = await tinyRepository();
    await commit(repository.folder, "Good", { good: "" });
    await commit(repository.folder, "Bad", { "test.mjs": "console.log('expected 4, got 5'); process.exitCode = 1;\n" });
    await commit(repository.folder, "Fixed", { "test.mjs": "" });
    const { code, stderr } = await check(repository);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Step 2 of 3 \([0-9a-f]+ Bad\) failed: .*run test:unit` ended with status 1$/m);
    expect(stderr).toContain("| expected 4, got 5");
    expect(stderr).toMatch(/^How to fix it: change that commit/m);
    expect(stderr).not.toContain("Fixed");
    await expectNothingLeft(repository);
  });

  it("fails for a commit that lacks a built file, even though the previous commit built it", async () => {
    const repository = await tinyRepository();
    await commit(repository.folder, "Good", {
      "test.mjs": "import { statSync } from 'node:fs'; statSync('built/build');\n",
    });
    await commit(repository.folder, "Builds nothing", { "build.mjs": "" });
    const { code, stderr } = await check(repository);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Step 2 of 2 \([0-9a-f]+ Builds nothing\) failed/m);
  });

  it("uses the commit's own workspaces with the installed packages", async () => {
    const repository = await tinyRepository();
    const test =
      "import { value } from 'member'; import { isThere } from 'outside'; process.exitCode = value === 'committed' && isThere ? 0 : 1;\n";
    await commit(repository.folder, "Second", { "test.mjs": test });
    await write(repository.folder, { "member/index.js": "export const value = 'not committed';\n" });
    expect(await check(repository)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("packages of this clone"),
    });
  });

  it("installs the packages if those of the clone are outdated", async () => {
    const repository = await tinyRepository();
    await commit(repository.folder, "Second", {
      "test.mjs": "import { value } from 'member'; process.exitCode = value === 'committed' ? 0 : 1;\n",
    });
    const past = new Date(Date.now() - 3_600_000);
    await utimes(join(repository.folder, "node_modules/.package-lock.json"), past, past);
    expect(await check(repository)).toMatchObject({ code: 0, stderr: expect.stringContaining("packages installed") });
    expect(existsSync(join(repository.folder, "node_modules/outside/index.js"))).toBe(true);
  });

  it("fails for a commit whose lock file lacks a dependency", async () => {
    const repository = await tinyRepository();
    await commit(repository.folder, "Forgotten", {
      "package.json": JSON.stringify({ ...MANIFEST, dependencies: { outside: "1.0.0" } }),
    });
    const { code, stderr } = await check(repository);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Forgotten\) failed: .*ci --prefer-offline .*` ended with status 1/);
  });

  it("removes its worktree on Ctrl-C", async () => {
    const repository = await tinyRepository();
    const marker = join(repository.folder, "..", "started");
    const source = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(marker)}, ""); setInterval(() => {}, 1000);\n`;
    await commit(repository.folder, "Endless", { "test.mjs": source });
    const child = spawn(process.execPath, [program, repository.first], {
      cwd: repository.folder,
      env: environment(repository),
      stdio: "ignore",
    });
    await expect.poll(() => existsSync(marker)).toBe(true);
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([130, null]);
    await expectNothingLeft(repository);
  });

  it("rejects a base that is not a commit", async () => {
    const repository = await tinyRepository();
    expect(await check(repository, ["nowhere"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nowhere is not a commit"),
    });
    expect(await check(repository, ["main", "main"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unexpected argument: main"),
    });
  });
});

describe("defaultBase", () => {
  it("is the upstream branch, else origin/main, else main~1", async () => {
    const { folder, first } = await tinyRepository();
    await expect(defaultBase(folder)).rejects.toThrow("no commit to compare with");
    await commit(folder, "Second", {});
    expect(await defaultBase(folder)).toBe("main~1");
    await git(folder, ["update-ref", "refs/remotes/origin/main", first]);
    expect(await defaultBase(folder)).toBe("origin/main");
    await git(folder, ["branch", "other", first]);
    await git(folder, ["branch", "--quiet", "--set-upstream-to=other"]);
    expect(await defaultBase(folder)).toBe("@{upstream}");
    expect(await commitsBetween(folder, "@{upstream}")).toHaveLength(1);
  });
});

describe("pushedCommits", () => {
  it("lists what a push adds to main, the oldest first", async () => {
    const { folder, first } = await tinyRepository();
    const second = await commit(folder, "Second", {});
    const third = await commit(folder, "Third", {});
    const pushed = (line) => pushedCommits(folder, "origin", `${line}\n`);
    expect(await pushed(`refs/heads/main ${third} refs/heads/main ${first}`)).toEqual([second, third]);
    expect(await pushed(`refs/heads/topic ${third} refs/heads/main ${second}`)).toEqual([third]);
    expect(await pushed(`refs/heads/main ${third} refs/heads/topic ${first}`)).toEqual([]);
    expect(await pushed(`(delete) ${ZERO} refs/heads/main ${first}`)).toEqual([]);
    expect(await pushed("")).toEqual([]);
  });

  it("compares with the remote's other branches if main is new or unknown, and lists the last commit if it has none", async () => {
    const { folder, first } = await tinyRepository();
    const second = await commit(folder, "Second", {});
    const third = await commit(folder, "Third", {});
    for (const known of [ZERO, "1".repeat(40)]) {
      expect(await pushedCommits(folder, "other", `refs/heads/main ${third} refs/heads/main ${known}`)).toEqual([
        third,
      ]);
    }
    await git(folder, ["update-ref", "refs/remotes/origin/topic", first]);
    expect(await pushedCommits(folder, "origin", `refs/heads/main ${third} refs/heads/main ${ZERO}`)).toEqual([
      second,
      third,
    ]);
  });
});

it("rejects a push to main of a commit that fails, and lets other branches pass", async () => {
  const repository = await tinyRepository();
  const { folder } = repository;
  const remote = join(folder, "..", "remote.git");
  await git(folder, ["init", "--quiet", "--bare", remote]);
  await git(folder, ["remote", "add", "origin", remote]);
  await git(folder, ["push", "--quiet", "origin", "main"]);
  // The hook starts the program of the repository that is pushed.
  await write(folder, {
    "scripts/check-commits.mjs": `process.argv[1] = ${JSON.stringify(program)}; await import(process.argv[1]);\n`,
    "scripts/hooks/pre-push": await readFile(join(root, "scripts/hooks/pre-push"), "utf8"),
  });
  await chmod(join(folder, "scripts/hooks/pre-push"), 0o755);
  await git(folder, ["config", "core.hooksPath", "scripts/hooks"]);
  await commit(folder, "Bad", { "test.mjs": "process.exitCode = 1;\n" });
  const push = (to) =>
    promisify(execFile)("git", ["push", "--quiet", "origin", to], { cwd: folder, env: environment(repository) });
  await push("HEAD:topic");
  const { code, stderr } = await push("HEAD:main").catch((error) => error);
  expect(code).toBe(1);
  expect(stderr).toContain("Checking 1 commit before the push to main");
  expect(stderr).toMatch(/ Bad\) failed/);
  await expectNothingLeft(repository);
});
