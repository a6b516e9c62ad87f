// Installs the versions of Node that the store, the transport and the SDK are tested on, besides the one that runs the
// tests: into .cache/node, from npm, pinned. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { npm, root } from "./steps.mjs";

/** The latest release of each later version in long-term support. Node 20 is the oldest one that svc runs on. */
export const NODE_VERSIONS = ["22.23.3", "24.9.0"];

/** All that runs in the engine's process and in workers. */
export const ALL_FOLDERS = ["engine", "observability", "protocol", "sdk"].map((name) => `packages/${name}/dist/`);
/** What depends most on the version: SQLite is built into Node from 22.13, and sockets and streams differ. */
export const MAIN_FOLDERS = ["packages/engine/dist/store/", "packages/engine/dist/transport/", "packages/sdk/dist/"];

/** Returns the path of a version's program. `installNodeVersions` provides it. */
export function nodeProgram(version) {
  return join(
    folderOf(version),
    "node_modules",
    platformPackage(),
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
}

/** @param {{ signal: AbortSignal, outcome: (text: string) => void }} context */
export async function installNodeVersions({ signal, outcome }) {
  const missing = NODE_VERSIONS.filter((version) => !existsSync(nodeProgram(version)));
  if (missing.length === 0) outcome("up to date");
  for (const version of missing) {
    const cwd = folderOf(version);
    await mkdir(cwd, { recursive: true });
    // Outside of the repository's workspaces, so that npm does not change those.
    await writeFile(join(cwd, "package.json"), '{ "private": true }\n');
    await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", `${platformPackage()}@${version}`], {
      signal,
      cwd,
      timeoutMs: 300_000,
      fix: "this needs the network; look at the output above, then run the command again.",
    });
  }
}

function folderOf(version) {
  return join(root, ".cache/node", version);
}

/** Name of the package with Node's program for this platform. The package `node` only installs it. */
function platformPackage() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  return `node-${platform}-${process.arch}`;
}
