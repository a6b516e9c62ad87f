// Tools that check and publish packages: publint, are-the-types-wrong, twine and the build of the Python package. They
// are installed by the release only, with known content: into .cache/release.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPinnedPython } from "./python-environment.mjs";
import { npm, root, runCommand, StepFailure } from "./steps.mjs";

const wantedDir = join(root, "scripts/release-tools");
const cacheDir = join(root, ".cache/release");
const npmDir = join(cacheDir, "npm");
const NPM_FILES = ["package.json", "package-lock.json"];
const TOOL_TIMEOUT_MS = 120_000;

/**
 * Installs the tools, unless that was done since their lock files changed. Resolves with the Python that has twine.
 *
 * @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context
 */
export async function installReleaseTools({ signal, note, outcome }) {
  const isNewNpm = await installNpmTools(signal);
  const { python, isNew } = await installPinnedPython(
    { environment: ".cache/release/python", requirements: "scripts/release-tools/requirements.txt" },
    { signal, note },
  );
  if (!isNewNpm && !isNew) outcome("up to date");
  return python;
}

async function installNpmTools(signal) {
  const marker = join(npmDir, "wanted.sha256");
  const hash = createHash("sha256");
  for (const name of NPM_FILES) hash.update(await readFile(join(wantedDir, name)));
  const wanted = hash.digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) return false;
  await rm(npmDir, { recursive: true, force: true });
  await mkdir(npmDir, { recursive: true });
  for (const name of NPM_FILES) await copyFile(join(wantedDir, name), join(npmDir, name));
  // Outside of the repository's workspaces, so that npm does not change those.
  await npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    signal,
    cwd: npmDir,
    timeoutMs: 300_000,
    fix: "this needs the network; look at the output above, then run the command again.",
  });
  await writeFile(marker, `${wanted}\n`);
  return true;
}

/**
 * Lets each tool check a broken package. Rejects with StepFailure if one reports nothing: a tool that cannot fail checks
 * nothing.
 *
 * @param {string} python
 * @param {AbortSignal} signal
 */
export async function testReleaseTools(python, signal) {
  const staging = await mkdtemp(join(tmpdir(), "svc-broken-"));
  try {
    const [file, wheel] = await Promise.all([brokenPackage(staging, signal), brokenWheel(staging, python, signal)]);
    const reports = [
      ...(await npmToolProblems(file, { hasEntries: true, signal })),
      ...(await pythonToolProblems(wheel, python, signal)),
    ];
    const silent = ["publint", "attw", "twine"].filter((tool) => !reports.some((report) => report.startsWith(tool)));
    if (silent.length > 0) throw new StepFailure(`${silent.join(", ")} reported nothing about a broken package`);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Packs a package whose types are those of a CommonJS module, and which lacks one of its entries. */
async function brokenPackage(staging, signal) {
  const folder = join(staging, "npm");
  await writeFiles(folder, {
    "package.json": JSON.stringify({
      name: "broken",
      version: "1.0.0",
      type: "module",
      exports: {
        ".": { types: "./index.d.cts", default: "./index.js" },
        "./missing": { types: "./missing.d.ts", default: "./missing.js" },
      },
    }),
    "index.js": "export const one = 1;\n",
    "index.d.cts": "declare const one: number;\nexport = one;\n",
  });
  await npm(["pack", "--ignore-scripts", "--pack-destination", staging, folder], { signal });
  return join(staging, "broken-1.0.0.tgz");
}

/** Builds a wheel without a description. */
async function brokenWheel(staging, python, signal) {
  const folder = join(staging, "python");
  await writeFiles(folder, {
    "pyproject.toml":
      '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "broken"\nversion = "1.0.0"\n',
    "broken.py": "",
  });
  await runCommand(python, ["-m", "build", "--wheel", "--no-isolation", "--outdir", staging, folder], { signal });
  return join(staging, "broken-1.0.0-py3-none-any.whl");
}

async function writeFiles(folder, contents) {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text);
}

/**
 * Resolves with what publint and are-the-types-wrong report about a tarball, one message per tool.
 *
 * @param {string} file Path of the tarball.
 * @param {{ hasEntries: boolean, signal: AbortSignal }} options `hasEntries`: programs may import the package.
 */
export async function npmToolProblems(file, { hasEntries, signal }) {
  const tools = [
    ["publint", ["run", file, "--strict"]],
    // A package of programs has no types. The others are ES modules only: older resolutions of TypeScript, and require() in them, are not supported.
    ...(hasEntries ? [["attw", [file, "--profile", "esm-only", "--no-color", "--no-emoji", "--format", "ascii"]]] : []),
  ];
  const found = await Promise.all(
    tools.map(([tool, args]) => toolProblem(tool, process.execPath, [programOf(tool), ...args], signal)),
  );
  return found.flat();
}

/** Resolves with what twine reports about a wheel or an sdist: no message or one. */
export async function pythonToolProblems(file, python, signal) {
  return await toolProblem("twine", python, ["-m", "twine", "check", "--strict", file], signal);
}

function programOf(tool) {
  return join(npmDir, "node_modules/.bin", tool);
}

async function toolProblem(tool, command, args, signal) {
  try {
    await runCommand(command, args, { signal, timeoutMs: TOOL_TIMEOUT_MS, env: { ...process.env, NO_COLOR: "1" } });
    return [];
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return [
      `${tool} reports:\n${(error.output.length > 0 ? error.output : [error.message]).map((line) => `    ${line}`).join("\n")}`,
    ];
  }
}
