// What has to be there before anything of the repository runs: tools, packages, a build. Plain Node without dependencies.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureVenv, findPython, npm, root } from "./pack-sdks.mjs";
import { runCommand, StepFailure } from "./steps.mjs";

const MIN_NODE = [20, 19];
const INSTALL_TIMEOUT_MS = 300_000;

/** Fails with what to install when Node or Python is too old or missing. */
export async function checkTools({ signal }) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
    throw new StepFailure(`this is Node ${process.version}`, { fix: `install Node ${MIN_NODE.join(".")} or later: https://nodejs.org` });
  }
  await findPython(signal);
}

/** `npm ci`, unless the packages are those of the lockfile already. */
export async function installPackages({ signal, outcome }) {
  const marker = join(root, "node_modules/.lockfile.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) {
    outcome("up to date");
    return;
  }
  await npm(["ci", "--no-audit", "--no-fund"], {
    signal,
    cwd: root,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "npm needs the network for this; look at its output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
}

/** Compiles a project and what it depends on; all of them by default. */
export async function build({ signal }, project = ".") {
  await runCommand(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b", project], {
    signal,
    cwd: root,
    fix: "the sources do not compile; the output above names file and line.",
  });
}

/** The Python tools that the tests and checks need, in the repository's own environment. Resolves with its Python. */
export async function installPythonTools({ signal, note, outcome }) {
  const python = await ensureVenv({ signal, note });
  const marker = join(root, ".venv/.pyproject.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(join(root, "python/pyproject.toml")))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) {
    outcome("up to date");
    return python;
  }
  await runCommand(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", `${join(root, "python")}[dev]`], {
    signal,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "pip needs the network for this; look at its output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
  return python;
}
