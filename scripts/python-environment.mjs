// Finds Python, creates virtual environments, and installs packages in them.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, runCommand, StepFailure } from "./steps.mjs";

const MIN_PYTHON = [3, 10];
const INSTALL_TIMEOUT_MS = 300_000;

const VENV = ".venv";

/** Creates the repository's virtual environment if it is missing. Resolves with the path of its Python. */
export async function ensureVenv({ signal, note }) {
  const dir = join(root, VENV);
  const python = programIn(dir);
  const usable = async () => existsSync(python) && (await succeeds(python, ["-c", "import pip"], signal));
  if (await usable()) return python;
  note(`making a Python environment (${VENV})`);
  await rm(dir, { recursive: true, force: true });
  const system = await findPython(signal);
  const fix = "this Python cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv";
  // Debian's Python has no ensurepip, so its venv is incomplete.
  const module = (await succeeds(system, ["-c", "import venv, ensurepip"], signal)) ? "venv" : "virtualenv";
  await runCommand(system, ["-m", module, dir], { signal, fix });
  if (!(await usable())) throw new StepFailure(`${python} has no pip`, { fix });
  return python;
}

/** Resolves with the name of a Python that is new enough. */
export async function findPython(signal) {
  const code = `import sys; sys.exit(0 if sys.version_info >= (${MIN_PYTHON.join(", ")}) else 1)`;
  for (const name of process.platform === "win32" ? ["python", "py"] : ["python3", "python"]) {
    if (await succeeds(name, ["-c", code], signal)) return name;
  }
  throw new StepFailure(`Python ${MIN_PYTHON.join(".")} or later was not found`, {
    fix: "install it (https://www.python.org/downloads, or your system's package python3 with python3-venv) so that `python3 --version` works.",
  });
}

async function succeeds(command, args, signal) {
  try {
    await runCommand(command, args, { signal, timeoutMs: 60_000 });
    return true;
  } catch (error) {
    if (error instanceof StepFailure) return false;
    throw error;
  }
}

/**
 * Installs the packages of a requirements file, with its versions and hashes, into a virtual environment of its own, unless that was done since the file
 * changed. Both are paths from the repository's root. Resolves with the path of the environment's Python and whether anything was installed.
 *
 * @param {{ environment: string, requirements: string }} paths
 * @param {{ signal: AbortSignal, note: (line: string) => void }} context
 */
export async function installPinnedPython(paths, context) {
  // Wheels only: the installation must not run code of the package. Each must have a known hash.
  return await installPython(paths, ["--only-binary", ":all:", "--no-deps", "--require-hashes"], context);
}

/**
 * Like `installPinnedPython`, with other options of pip. The pip of the repository's environment installs: creating an environment with a pip of its own
 * takes 20 times as long as creating one without.
 */
export async function installPython({ environment, requirements }, options, { signal, note }) {
  const dir = join(root, environment);
  const python = programIn(dir);
  const file = join(root, requirements);
  const marker = join(dir, "requirements.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
  const isMade = existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted;
  if (isMade && (await succeeds(python, ["-c", ""], signal))) return { python, isNew: false };
  const installer = await ensureVenv({ signal, note });
  note(`making a Python environment (${environment})`);
  await rm(dir, { recursive: true, force: true });
  await runCommand(installer, ["-m", "venv", "--without-pip", dir], { signal });
  const target = ["--prefix", dir, "--ignore-installed", "--no-warn-script-location"];
  const quiet = ["--quiet", "--no-compile", "--disable-pip-version-check"];
  await runCommand(installer, ["-m", "pip", "install", ...quiet, ...target, ...options, "--requirement", file], {
    signal,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "pip needs the network for this; look at its output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
  return { python, isNew: true };
}

function programIn(environment) {
  return join(environment, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
}
