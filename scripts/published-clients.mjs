// Installs the published Python clients, which the compatibility tests use as black boxes, in exactly the versions of
// their requirements files, into .cache/compat/python-0.11 and -0.22. Does nothing for files that have not changed since.
// `node scripts/published-clients.mjs` runs it alone.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureVenv } from "./pack-sdks.mjs";
import { interruptSignal, reportFailure, root, runCommand, stepRunner } from "./steps.mjs";

const VERSIONS = ["0.11", "0.22"];
const INSTALL_TIMEOUT_MS = 300_000;

/** @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context */
export async function installPublishedPython({ signal, note, outcome }) {
  const installed = [];
  for (const version of VERSIONS) if (await install(version, { signal, note })) installed.push(version);
  if (installed.length === 0) outcome("up to date");
}

/** Resolves with false if the version is up to date. */
async function install(version, { signal, note }) {
  const environment = `.cache/compat/python-${version}`;
  const requirements = join(root, `e2e/src/compat/clients/python-${version}-requirements.txt`);
  const python = await ensureVenv({ signal, note }, environment);
  const marker = join(root, environment, "requirements.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) return false;
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
  return true;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Installing the published Python clients", installPublishedPython);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
