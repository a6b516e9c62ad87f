// Installs Python packages in exactly the versions and with the hashes of a requirements file.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureVenv } from "./pack-sdks.mjs";
import { root, runCommand } from "./steps.mjs";

const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Installs the packages of a requirements file into a virtual environment, unless that was done since the file changed.
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
