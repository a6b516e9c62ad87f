// Installs the toolchains of the tests' workers of every kind: from npm and PyPI, pinned, into .cache/toolchains; Go
// and Cargo from Debian if they are missing. Does nothing if e2e/src/worker-kinds/toolchains has not changed since.
// `node scripts/toolchains.mjs` runs it alone.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installPython } from "./python-environment.mjs";
import { installProgram } from "./setup.mjs";
import { interruptSignal, npm, reportFailure, root, stepRunner } from "./steps.mjs";

const wantedDir = join(root, "e2e/src/worker-kinds/toolchains");
const cacheDir = join(root, ".cache/toolchains");
const FIX = "this needs the network; look at the output above, then run the command again.";
const TIMEOUT_MS = 300_000;

/** @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context */
export async function installToolchains({ signal, note, outcome }) {
  await installProgram("go", "golang-go", { signal, note });
  await installProgram("cargo", "cargo", { signal, note });
  const marker = join(cacheDir, "wanted.sha256");
  const wanted = await wantedHash();
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) {
    outcome("up to date");
    return;
  }
  const requirements = "e2e/src/worker-kinds/toolchains/requirements.txt";
  await installPython({ environment: ".cache/toolchains/python", requirements }, [], { signal, note });
  await mkdir(join(cacheDir, "npm"), { recursive: true });
  await copyFile(join(wantedDir, "package.json"), join(cacheDir, "npm/package.json"));
  // Bun and Deno download their programs during the installation. Outside of the repository's workspaces, so that npm
  // does not change those.
  await npm(["install", "--no-audit", "--no-fund", "--no-package-lock"], {
    signal,
    cwd: join(cacheDir, "npm"),
    timeoutMs: TIMEOUT_MS,
    fix: FIX,
  });
  await writeFile(marker, `${wanted}\n`);
}

async function wantedHash() {
  const hash = createHash("sha256");
  for (const name of (await readdir(wantedDir)).sort())
    hash.update(`${name}\0`).update(await readFile(join(wantedDir, name)));
  return hash.digest("hex");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Installing the toolchains of workers", installToolchains);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
