// Runs git for the scripts. Plain Node without dependencies: it runs before `npm install`.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 2 ** 20;

/** Variables that git sets for its hooks. With them, git uses the hook's repository in every folder. */
const REPOSITORY_VARIABLES = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_PREFIX",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/** Returns the environment without the variables that name a git repository. */
export function environmentWithoutRepository(env = process.env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !REPOSITORY_VARIABLES.includes(name)));
}

/**
 * Runs git in a folder and resolves with its output, without the end of the last line. Rejects when git fails or is not
 * installed.
 *
 * @param {string} folder
 * @param {readonly string[]} args
 */
export async function git(folder, args) {
  const { stdout } = await promisify(execFile)("git", ["-C", folder, ...args], {
    env: environmentWithoutRepository(),
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT,
  });
  return stdout.trimEnd();
}

/** Runs git in a folder and resolves with its output, or with undefined when git fails. */
export async function gitOrUndefined(folder, args) {
  return await git(folder, args).catch(() => undefined);
}
