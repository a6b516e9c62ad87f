// Enables the repository's git hooks, scripts/hooks. Plain Node without dependencies: it runs before `npm install`.
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { git, gitOrUndefined } from "./git.mjs";

const HOOKS = "scripts/hooks";

/**
 * Sets core.hooksPath of the clone at `folder`. Does nothing if the clone has hooks or a hooks path, on CI (CI is set),
 * in a linked worktree, which shares the configuration of its clone, and in an unpacked archive. Never rejects: the
 * set-up works without hooks.
 *
 * @param {string} folder
 * @param {{ note: (line: string) => void, env?: NodeJS.ProcessEnv }} options
 */
export async function installHooks(folder, { note, env = process.env }) {
  try {
    if (isSet(env.CI) || !(await isClone(folder)) || (await hasHooks(folder))) return;
    await git(folder, ["config", "--local", "core.hooksPath", HOOKS]);
    note(`git runs the hooks in ${HOOKS} from now on (turn off: git config core.hooksPath .git/hooks)`);
  } catch {
    // git is missing, or its configuration is read-only.
  }
}

function isSet(value) {
  return value !== undefined && value !== "" && value !== "false" && value !== "0";
}

async function isClone(folder) {
  if (!(await stat(join(folder, ".git"))).isDirectory()) return false;
  const top = await git(folder, ["rev-parse", "--show-toplevel"]);
  return (await realpath(top)) === (await realpath(folder));
}

async function hasHooks(folder) {
  // All scopes: a hooks path in the user's own configuration counts, too.
  if ((await gitOrUndefined(folder, ["config", "--get", "core.hooksPath"])) !== undefined) return true;
  const names = await readdir(join(folder, ".git/hooks")).catch(() => []);
  return names.some((name) => !name.endsWith(".sample"));
}
