// Installs what the repository needs to run: tools, packages, a build. Plain Node without dependencies.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleEntry, bundleIsCurrent } from "../packages/cli/bin/current-bundle.js";
import { installHooks } from "./install-hooks.mjs";
import { ensureVenv, findPython } from "./python-environment.mjs";
import { npm, root, runCommand, StepFailure } from "./steps.mjs";

const MIN_NODE = [20, 19];
const INSTALL_TIMEOUT_MS = 300_000;

/** Fails if Node or Python is too old or missing, with what to install. */
export async function checkTools({ signal }) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
    throw new StepFailure(`this is Node ${process.version}`, {
      fix: `install Node ${MIN_NODE.join(".")} or later: https://nodejs.org`,
    });
  }
  await findPython(signal);
}

/**
 * Installs the packages of the lock file, unless that was done since the file changed. Enables the git hooks.
 *
 * @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context
 */
export async function installPackages({ signal, note, outcome }) {
  await installHooks(root, { note });
  const done = join(root, "node_modules/.package-lock.json");
  if (await isNewer(done, join(root, "package-lock.json"))) {
    outcome("up to date");
    return;
  }
  const options = {
    signal,
    cwd: root,
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix: "npm needs the network for this; look at its output above, then try again.",
  };
  let lockRefused = false;
  const onLine = (line) => {
    lockRefused ||= line.includes("package-lock.json") && line.includes("in sync");
  };
  try {
    // The lock file contains the integrity of every package, so cached metadata is safe to use.
    await npm(["ci", "--prefer-offline", "--no-audit", "--no-fund"], { ...options, onLine });
  } catch (error) {
    if (!lockRefused) throw error;
    // A lock file of another platform may lack packages that only this platform needs.
    note("package-lock.json does not match this machine; installing without the lock file");
    await npm(["install", "--no-save", "--no-audit", "--no-fund"], options);
  }
}

async function isNewer(file, ...than) {
  if (!existsSync(file)) return false;
  const [one, ...others] = await Promise.all([file, ...than].map((path) => stat(path)));
  return others.every((other) => one.mtimeMs >= other.mtimeMs);
}

/**
 * The compiler of builds: TypeScript 7, which is several times faster. The package `typescript` is version 6, because
 * the linters need its API.
 */
const tsc = join(root, "node_modules/typescript-7/bin/tsc");
/**
 * Returns the arguments with which Node compiles projects. The compiler's default of four threads per project repeats
 * work: on two cores that takes 1.7 times the CPU time.
 */
export const compile = [tsc, "-b", "--builders", "2", "--checkers", "1"];

/** Compiles a project and its dependencies, by default all projects. `flags` are additional compiler options. */
export async function build({ signal }, project = ".", flags = []) {
  await runCommand(process.execPath, [...compile, ...flags, project], {
    signal,
    cwd: root,
    fix: "the sources do not compile; the output above names file and line.",
  });
}

/**
 * Bundles the built CLI, so that it starts faster, unless that was done since the build. The bundler has native code:
 * if it does not run here, svc runs unbundled.
 *
 * @param {{ outcome: (text: string) => void }} context
 */
export async function bundleCli({ outcome }) {
  if (bundleIsCurrent() && (await isNewer(fileURLToPath(bundleEntry), join(root, "scripts/bundle-cli.mjs")))) {
    outcome("up to date");
    return;
  }
  let bundler;
  try {
    bundler = await import("./bundle-cli.mjs");
  } catch (error) {
    outcome(`skipped, svc will start more slowly: ${error.message.split("\n")[0]}`);
    return;
  }
  try {
    await bundler.writeBundle();
  } catch (error) {
    throw new StepFailure(`the built CLI cannot be bundled: ${error.message}`, { cause: error });
  }
}

/**
 * Builds the console's page, unless that was done since its sources changed.
 * @param {{ signal: AbortSignal, outcome: (text: string) => void }} context
 */
export async function buildConsolePage({ signal, outcome }) {
  const folder = join(root, "packages/console");
  if (
    await isNewer(
      join(folder, "dist/web/index.html"),
      ...(await filesIn(join(folder, "src"))),
      join(folder, "vite.config.ts"),
      join(root, "package-lock.json"),
    )
  ) {
    outcome("up to date");
    return;
  }
  await runCommand(process.execPath, [join(root, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], {
    signal,
    cwd: folder,
    // With another value, as test runners set it, React would be its development build.
    env: { ...process.env, NODE_ENV: "production" },
    timeoutMs: 120_000,
    fix: "the console's page cannot be built; the output above names file and line.",
  });
}

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Installs the Python tools of the tests and checks into the repository's environment. Resolves with its Python. */
export async function installPythonTools({ signal, note, outcome }) {
  const python = await ensureVenv({ signal, note });
  const marker = join(root, ".venv/.pyproject.sha256");
  const wanted = createHash("sha256")
    .update(await readFile(join(root, "python/pyproject.toml")))
    .digest("hex");
  if (existsSync(marker) && (await readFile(marker, "utf8")).trim() === wanted) {
    outcome("up to date");
    return python;
  }
  await runCommand(
    python,
    [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--no-compile",
      "--disable-pip-version-check",
      "--editable",
      `${join(root, "python")}[dev]`,
    ],
    {
      signal,
      timeoutMs: INSTALL_TIMEOUT_MS,
      fix: "pip needs the network for this; look at its output above, then run the command again.",
    },
  );
  await writeFile(marker, `${wanted}\n`);
  return python;
}

/** Chromium without windows needs only two thirds of the CPU time. Name of Debian's package. */
const HEADLESS_SHELL = "chromium-headless-shell";
/** Other names of the browser, the same as in `e2e/src/support/browser.ts`. */
const CHROMIUM_NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const CHROMIUM_FIX = `install Chromium (on Debian \`apt-get install ${HEADLESS_SHELL}\`), or name its program in SVC_CHROMIUM.`;

/** Finds the browser of the end-to-end tests. Installs Debian's headless shell if no password is needed. */
export async function installBrowser({ signal, note, outcome }) {
  const named = process.env.SVC_CHROMIUM;
  if (named) {
    if (!existsSync(named))
      throw new StepFailure(`SVC_CHROMIUM names ${named}, which does not exist`, { fix: CHROMIUM_FIX });
    outcome(named);
    return;
  }
  const shell = onPath(HEADLESS_SHELL);
  if (shell !== undefined) {
    outcome(shell);
    return;
  }
  const found = CHROMIUM_NAMES.map(onPath).find((path) => path !== undefined);
  if (!canInstallPackages()) {
    if (found === undefined) throw new StepFailure("no Chromium was found", { fix: CHROMIUM_FIX });
    outcome(found);
    return;
  }
  note(`installing Debian's package ${HEADLESS_SHELL}`);
  try {
    await installPackage(HEADLESS_SHELL, { signal, fix: CHROMIUM_FIX });
    outcome(onPath(HEADLESS_SHELL) ?? HEADLESS_SHELL);
  } catch (error) {
    // Not every release of Debian has it.
    if (found === undefined || signal?.aborted) throw error;
    outcome(found);
  }
}

/** Installs the Redis server that tests start, in the same way as the browser. */
export async function installRedis(context) {
  const program = await installProgram("redis-server", "redis-server", context);
  await installProgram("redis-cli", "redis-tools", context);
  context.outcome(program);
}

/** Installs the terminal that tests type into, in the same way as the browser. */
export async function installTmux(context) {
  context.outcome(await installProgram("tmux", "tmux", context));
}

/** Installs the shells whose completion is tested, in the same way as the browser. */
export async function installShells(context) {
  const programs = [];
  for (const shell of ["bash", "zsh", "fish"]) programs.push(await installProgram(shell, shell, context));
  context.outcome(programs.join(", "));
}

/** Installs the tool that checks the systemd unit of deploy/, in the same way as the browser. */
export async function installSystemd(context) {
  context.outcome(await installProgram("systemd-analyze", "systemd", context));
}

/** Installs a Debian package if its program is missing. Resolves with the program's path. */
export async function installProgram(program, debianPackage, { signal, note }) {
  const found = onPath(program);
  if (found !== undefined) return found;
  const fix = `install it: on Debian \`apt-get install ${debianPackage}\`.`;
  if (!canInstallPackages()) throw new StepFailure(`no ${program} was found`, { fix });
  note(`installing Debian's package ${debianPackage}`);
  await installPackage(debianPackage, { signal, fix });
  return onPath(program) ?? program;
}

/** Whether Debian packages can be installed without a password. */
function canInstallPackages() {
  return onPath("apt-get") !== undefined && process.getuid?.() === 0;
}

let areListsFresh = false;

async function installPackage(name, { signal, fix }) {
  const options = {
    signal,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    timeoutMs: INSTALL_TIMEOUT_MS,
    fix,
  };
  if (!areListsFresh) await runCommand("apt-get", ["update"], options);
  areListsFresh = true;
  await runCommand("apt-get", ["install", "--yes", "--no-install-recommends", name], options);
}

function onPath(name) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
