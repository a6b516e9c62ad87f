import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Folder of the installed systems. It is kept between runs, and git ignores it. */
const FOLDER = fileURLToPath(new URL("../../.cache/bench/peers", import.meta.url));
/**
 * `iii-sdk` is the published client whose protocol the engine supports. The versions are fixed, because the limits were
 * set with these versions.
 */
const PACKAGES = ["moleculer@0.14.36", "nats@2.29.3", "iii-sdk@0.11.6", "bullmq@6.7.0"];
const INSTALL_TIMEOUT_MS = 180_000;

/** Paths of the other systems. */
export interface Peers {
  /** Folder with `node_modules`. */
  readonly packages: string;
  /** Path of the message broker's program. Undefined if it is not available. */
  readonly natsServer: string | undefined;
}

/** Installs the other systems unless they are installed. Rejects if the registry cannot be reached. */
export async function installPeers(): Promise<Peers> {
  const marker = join(FOLDER, `installed-${PACKAGES.join("+")}`);
  if (!existsSync(marker)) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(join(FOLDER, "package.json"), '{"private":true}\n');
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES], {
      cwd: FOLDER,
      timeout: INSTALL_TIMEOUT_MS,
    });
    writeFileSync(marker, "");
  }
  return { packages: FOLDER, natsServer: await findNatsServer() };
}

/** Returns the installed program. If it is not installed, downloads and unpacks Debian's package. */
async function findNatsServer(): Promise<string | undefined> {
  const installed = (process.env.PATH ?? "").split(":").map((folder) => join(folder, "nats-server"));
  const unpacked = join(FOLDER, "debian", "usr", "sbin", "nats-server");
  const found = [...installed, unpacked].find((path) => existsSync(path));
  if (found !== undefined) return found;
  const debian = join(FOLDER, "debian");
  mkdirSync(debian, { recursive: true });
  try {
    await run("apt-get", ["download", "nats-server"], { cwd: debian, timeout: INSTALL_TIMEOUT_MS });
    const archive = readdirSync(debian).find((name) => name.endsWith(".deb"));
    if (archive === undefined) return undefined;
    await run("dpkg", ["-x", archive, "."], { cwd: debian, timeout: INSTALL_TIMEOUT_MS });
  } catch {
    // This is not a Debian system, or its archive cannot be reached. The comparison is then reported as not run.
    return undefined;
  }
  return existsSync(unpacked) ? unpacked : undefined;
}
