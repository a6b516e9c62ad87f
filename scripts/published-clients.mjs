// Installs the published Python client, which the compatibility tests use as a black box, in exactly the versions of
// its requirements file, into .cache/compat/python. Does nothing if the file has not changed since. `node
// scripts/published-clients.mjs` runs it alone.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureVenv } from "./pack-sdks.mjs";
import { interruptSignal, reportFailure, root, runCommand, stepRunner } from "./steps.mjs";

const environment = ".cache/compat/python";
const requirements = join(root, "e2e/src/compat/clients/python-requirements.txt");
const INSTALL_TIMEOUT_MS = 300_000;

/** @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context */
export async function installPublishedPython({ signal, note, outcome }) {
  const python = await ensureVenv({ signal, note }, environment);
  const marker = join(root, environment, "requirements.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) {
    outcome("up to date");
    return;
  }
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
    requirements,
  ];
  await runCommand(python, ["-m", "pip", ...args], {
    signal,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "pip needs the network for this; look at its output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Installing the published Python client", installPublishedPython);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
