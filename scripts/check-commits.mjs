// `npm run check:commits -- [BASE]`: checks in a temporary worktree that each commit in BASE..HEAD builds and passes
// the unit tests by itself. Stops at the first commit that fails. BASE defaults to the upstream branch, else
// origin/main, else main~1. The pre-push hook calls it for the commits that are pushed to main. Plain Node without
// dependencies.
import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { manifestDifferences } from "./check-lock.mjs";
import { environmentWithoutRepository, git, gitOrUndefined } from "./git.mjs";
import { workspacePaths } from "./lock-file.mjs";
import { interruptSignal, npm, reportFailure, runCommand, StepFailure, stepRunner } from "./steps.mjs";

const USAGE = `Usage: npm run check:commits -- [BASE]

Checks that each commit in BASE..HEAD builds and passes the unit tests.
BASE defaults to the upstream branch, else origin/main, else main~1.

  --pre-push REMOTE  check the commits that git reports on standard input (used by the git hook)
  --help             print this`;
const MAIN = "refs/heads/main";
const COMMAND_TIMEOUT_MS = 1_800_000;
/** Lines of a failed command that are printed. */
const SHOWN_LINES = 80;
/** Folders kept between commits, in addition to node_modules. The set-up updates them. */
const KEPT_FOLDERS = [".venv", ".cache"];
/** Written by npm when it has installed the packages. */
const INSTALLED = "node_modules/.package-lock.json";
/** Files in node_modules that tools rewrite in place: a hard link would change those of the repository, too. */
const NOT_LINKED = new Set([".package-lock.json", ".svc-packages-key", ".cache", ".vite", ".vite-temp", ".vitest"]);

/**
 * Returns the commits in base..head, the oldest first.
 * @param {string} repository
 * @returns {Promise<string[]>}
 */
export async function commitsBetween(repository, base, head = "HEAD") {
  return lines(await git(repository, ["rev-list", "--reverse", "--topo-order", `${base}..${head}`]));
}

/** Returns the name of the commit that is compared with by default. */
export async function defaultBase(repository) {
  for (const name of ["@{upstream}", "origin/main", "main~1"]) {
    const found = await gitOrUndefined(repository, [
      "rev-parse",
      "--verify",
      "--quiet",
      "--end-of-options",
      `${name}^{commit}`,
    ]);
    if (found !== undefined) return name;
  }
  throw new StepFailure("no commit to compare with: there is no upstream branch, no origin/main and no main~1", {
    fix: "name one: npm run check:commits -- BASE",
  });
}

/**
 * Returns the commits that a push adds to main, the oldest first. `input` is what git passes to a pre-push hook: lines
 * of "<local ref> <local commit> <remote ref> <remote commit>".
 *
 * @param {string} repository
 * @param {string} remote
 * @param {string} input
 * @returns {Promise<string[]>}
 */
export async function pushedCommits(repository, remote, input) {
  const commits = new Set();
  for (const line of lines(input)) {
    const [, local, remoteRef, known] = line.split(" ");
    if (remoteRef !== MAIN || isZero(local)) continue;
    for (const commit of await commitsAdded(repository, { remote, local, known })) commits.add(commit);
  }
  return [...commits];
}

async function commitsAdded(repository, { remote, local, known }) {
  if (!isZero(known) && (await gitOrUndefined(repository, ["cat-file", "-e", `${known}^{commit}`])) !== undefined) {
    return await commitsBetween(repository, known, local);
  }
  // A first push: the remote's commits are unknown, and checking the whole history would take hours.
  if ((await git(repository, ["for-each-ref", "--count=1", `refs/remotes/${remote}`])) === "") return [local];
  return lines(await git(repository, ["rev-list", "--reverse", "--topo-order", local, "--not", `--remotes=${remote}`]));
}

function isZero(commit) {
  return /^0+$/.test(commit);
}

/**
 * Checks the commits one after another in a temporary worktree of the repository, and removes it at the end, also on
 * abort. Rejects with a StepFailure that names the first commit that fails.
 *
 * @param {string} repository
 * @param {readonly string[]} commits
 * @param {{ signal: AbortSignal, stream?: NodeJS.WriteStream }} options
 */
export async function checkCommits(repository, commits, { signal, stream }) {
  const { step } = stepRunner({ total: commits.length, signal, stream });
  const folder = await mkdtemp(join(tmpdir(), "svc-commits-"));
  const tree = join(folder, "tree");
  // A second Ctrl-C ends the process at once.
  const removeAtExit = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeAtExit);
  try {
    for (const commit of commits) {
      const title = await git(repository, ["log", "-1", "--format=%h %s", commit]);
      await step(title, (context) => checkCommit(repository, tree, commit, context), {
        fix: `change that commit (\`git rebase --interactive ${commit.slice(0, 12)}~1\`), then run \`npm run check:commits\` again.`,
      });
    }
  } finally {
    await gitOrUndefined(repository, ["worktree", "remove", "--force", tree]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    await gitOrUndefined(repository, ["worktree", "prune"]);
    process.off("exit", removeAtExit);
  }
}

async function checkCommit(repository, tree, commit, { signal, outcome }) {
  if (existsSync(tree)) await git(tree, ["checkout", "--quiet", "--detach", "--force", commit]);
  else await git(repository, ["worktree", "add", "--quiet", "--detach", tree, commit]);
  outcome(await providePackages(repository, tree, { signal }));
  const run = (start) =>
    withOutput((onLine) =>
      start({ signal, cwd: tree, env: cleanEnvironment(), timeoutMs: COMMAND_TIMEOUT_MS, onLine }),
    );
  await run((options) => npm(["run", "build"], options));
  const { scripts } = readJson(join(tree, "package.json"));
  if (scripts?.["test:unit"] !== undefined) await run((options) => npm(["run", "test:unit"], options));
  else await run((options) => runCommand(process.execPath, ["scripts/test.mjs", "--unit", "--no-install"], options));
}

/**
 * Runs a command and keeps more of its output for a failure than the step runner does: a failed test run prints much.
 */
async function withOutput(start) {
  const output = [];
  const onLine = (line) => {
    output.push(line);
    if (output.length > SHOWN_LINES) output.shift();
  };
  try {
    return await start(onLine);
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    throw new StepFailure(error.message, { output, fix: error.fix, cause: error });
  }
}

/**
 * Returns the environment without references to this clone: variables of git and npm, and the folders that npm adds to
 * PATH.
 */
function cleanEnvironment() {
  const env = environmentWithoutRepository();
  for (const name of Object.keys(env))
    if (/^(npm_(package|lifecycle|config_local_prefix|command)|INIT_CWD)/.test(name)) delete env[name];
  const path = (env.PATH ?? "").split(delimiter).filter((folder) => !folder.endsWith(join("node_modules", ".bin")));
  return { ...env, PATH: path.join(delimiter) };
}

/**
 * Installs the packages of the worktree's lock file, and removes all other files of the previous commit. Resolves with
 * where the packages come from. Packages of the repository are hard-linked. Links to workspaces are relative, so the
 * copies lead to the worktree's workspaces.
 */
async function providePackages(repository, tree, { signal }) {
  const wanted = packagesKey(tree);
  const keyFile = join(tree, "node_modules/.svc-packages-key");
  const isKept = existsSync(keyFile) && readFileSync(keyFile, "utf8") === wanted;
  // Files built for the previous commit could hide that this commit lacks them.
  await git(tree, [
    "clean",
    "-ffdx",
    "--quiet",
    ...[...KEPT_FOLDERS, ...(isKept ? ["node_modules"] : [])].flatMap((name) => ["-e", name]),
  ]);
  const marker = join(tree, INSTALLED);
  let source = "packages of the previous commit";
  if (!isKept && isInstalled(repository) && packagesKey(repository) === wanted && isLockCurrent(tree)) {
    for (const folder of packageFolders(repository)) linkTree(join(repository, folder), join(tree, folder), NOT_LINKED);
    copyFileSync(join(repository, INSTALLED), marker);
    source = "packages of this clone";
  } else if (!isKept) {
    await withOutput((onLine) =>
      npm(["ci", "--prefer-offline", "--no-audit", "--no-fund"], {
        signal,
        cwd: tree,
        env: cleanEnvironment(),
        timeoutMs: COMMAND_TIMEOUT_MS,
        onLine,
      }),
    );
    source = "packages installed";
  }
  if (existsSync(marker)) {
    writeFileSync(keyFile, wanted);
    // The set-up reinstalls packages that are older than the lock file, and the checkout has just written that.
    utimesSync(marker, new Date(), new Date());
  }
  return source;
}

/** Returns a hash of the lock file and of every package.json that it covers. */
function packagesKey(folder) {
  const hash = createHash("sha256");
  const lockFile = join(folder, "package-lock.json");
  const lock = existsSync(lockFile) ? readFileSync(lockFile, "utf8") : "{}";
  hash.update(lock);
  for (const path of ["", ...workspacePaths(JSON.parse(lock).packages ?? {})]) {
    const file = join(folder, path, "package.json");
    hash.update(`\0${path}\0`).update(existsSync(file) ? readFileSync(file) : "");
  }
  return hash.digest("hex");
}

/** Returns true if the packages in node_modules were installed since the lock file changed. */
function isInstalled(folder) {
  const [installed, lock] = [INSTALLED, "package-lock.json"].map((name) =>
    statSync(join(folder, name), { throwIfNoEntry: false }),
  );
  return installed !== undefined && lock !== undefined && installed.mtimeMs >= lock.mtimeMs;
}

/** Returns true if the lock file matches each package.json. If not, `npm ci` reports it. */
function isLockCurrent(folder) {
  const { packages } = readJson(join(folder, "package-lock.json"));
  return manifestDifferences(packages, (path) => readJson(join(folder, path, "package.json"))).length === 0;
}

/** Returns the folders that npm installs into: node_modules of the repository and of its workspaces. */
function packageFolders(repository) {
  const { packages } = readJson(join(repository, "package-lock.json"));
  const folders = ["", ...workspacePaths(packages)].map((path) => join(path, "node_modules"));
  return folders.filter((folder) => existsSync(join(repository, folder)));
}

/** Copies a folder with hard links to its files, or with copies of them on another file system. */
function linkTree(from, to, skipped = new Set()) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (skipped.has(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkOrCopy(source, target);
  }
}

function linkOrCopy(source, target) {
  try {
    linkSync(source, target);
  } catch (error) {
    if (!["EXDEV", "EPERM", "EMLINK", "ENOTSUP"].includes(error.code)) throw error;
    copyFileSync(source, target, constants.COPYFILE_FICLONE);
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function lines(output) {
  return output.split("\n").filter((line) => line !== "");
}

async function main(args) {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.help) {
    console.error(USAGE);
    return 0;
  }
  const signal = interruptSignal();
  try {
    const repository = await git(process.cwd(), ["rev-parse", "--show-toplevel"]);
    const commits = await commitsToCheck(repository, options);
    if (commits.length === 0) return 0;
    await checkCommits(repository, commits, { signal });
    return 0;
  } catch (error) {
    return reportFailure(error);
  }
}

async function commitsToCheck(repository, options) {
  if (options.remote !== undefined) {
    const commits = await pushedCommits(repository, options.remote, await text(process.stdin));
    if (commits.length > 0)
      console.error(`Checking ${count(commits)} before the push to main; \`git push --no-verify\` skips this.`);
    return commits;
  }
  const base = options.base ?? (await defaultBase(repository));
  if (
    (await gitOrUndefined(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${base}^{commit}`])) ===
    undefined
  ) {
    throw new StepFailure(`${base} is not a commit of this repository`, {
      fix: "name a branch or a commit: npm run check:commits -- BASE",
    });
  }
  const commits = await commitsBetween(repository, base);
  console.error(`Checking ${count(commits)} in ${base}..HEAD`);
  return commits;
}

function count(commits) {
  return commits.length === 1 ? "1 commit" : `${commits.length} commits`;
}

function readOptions(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { "pre-push": { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    if (positionals.length > 1) throw new Error(`unexpected argument: ${positionals[1]}`);
    return { help: values.help, remote: values["pre-push"], base: positionals[0] };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main(process.argv.slice(2));
