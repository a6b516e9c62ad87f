// Finds Python, creates virtual environments, and installs packages in them.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, runCommand, StepFailure } from "./steps.mjs";

const MIN_PYTHON = [3, 10];
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Creates a virtual environment if it is missing, by default the repository's. Resolves with the path of its Python.
 */
export async function ensureVenv({ signal, note }, name = ".venv") {
  const dir = join(root, name);
  const python = join(dir, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const usable = async () => existsSync(python) && (await succeeds(python, ["-m", "pip", "--version"], signal));
  if (await usable()) return python;
  note(`making a Python environment (${name})`);
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
 * Installs the packages of a requirements file, with its versions and hashes, into a virtual environment, unless that was done since the file changed.
 * Both are paths from the repository's root. Resolves with the path of the environment's Python and whether anything
 * was installed.
 *
 * @param {{ environment: string, requirements: string }} paths
 * @param {{ signal: AbortSignal, note: (line: string) => void }} context
 */
export async function installPinnedPython({ environment, requirements }, { signal, note }) {
  const python = await ensureVenv({ signal, note }, environment);
  const file = join(root, requirements);
  const marker = join(root, environment, "requirements.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) return { python, isNew: false };
  // Wheels only: the installation must not run code of the package. Each must have a known hash.
  const args = [
    "install",
    "--quiet",
    "--no-compile",
    "--disable-pip-version-check",
    "--only-binary",
    ":all:",
    "--no-deps",
    "--require-hashes",
    "--requirement",
    file,
  ];
  await runCommand(python, ["-m", "pip", ...args], {
    signal,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "pip needs the network for this; look at its output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
  return { python, isNew: true };
}
