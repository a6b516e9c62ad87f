// `npm run faults`: the long fault tests. Power cuts, failing syncs, a full disk, kill -9, flipped bits, cold starts,
// reconnects, 200 saves of a worker, 10,000 seeds of the cluster's simulation, faults planted for it, kills, stops and
// power cuts of a cluster of processes, partitions of one whose machines are network namespaces, histories of its state
// during 50 faults, kills of the commands that begin one with data, kills during its snapshots, slow disks and wrong
// clocks in one, the seeding of an engine without data, its upgrade (SVC_UPGRADE_FROM=folder begins with the version that
// is installed, built and bundled there), and an hour of steady load, on both SQLite drivers. Takes about five hours.
// `--short` runs everything in some minutes, `--write` writes the results into docs/guarantees.md, a pattern selects
// tests. Needs root and Linux, because it mounts its own disks to break them, so it is not part of `npm test`. Always
// removes its mounts, loop devices and network namespaces. SVC_SEED=n repeats a run.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { installNatsServer } from "./nats-server.mjs";
import { build, bundleCli, checkTools, installPythonTools } from "./setup.mjs";
import { interruptSignal, reportFailure, root, runCommand, StepFailure, stepRunner } from "./steps.mjs";

/** Pinned, so that runs are comparable. */
const NODE_22 = "22.23.3";
const [BEGIN, END] = ["<!-- figures of npm run faults: begin -->", "<!-- figures of npm run faults: end -->"];
const TOOLS = ["mount", "umount", "losetup", "mkfs.ext4", "truncate", "cp", "cc", "go", "ip", "openssl"];
/** Limits of writes per second by device, which slow disks have. */
const WRITE_LIMITS = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";
process.exitCode = await main();

async function main() {
  const signal = interruptSignal();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-faults-")));
  try {
    const { step } = stepRunner({ total: 7, signal });
    await step("Checking root and tools", checkMachine);
    await step("Checking Node and Python", checkTools);
    await step("Building", build);
    await step("Bundling svc", bundleCli);
    await step("Installing the Python tools", installPythonTools);
    await step("Looking for a NATS server", installNatsServer);
    const node22 = await step("Installing Node 22", installNode22);
    return await runTests(folder, node22, signal);
  } catch (error) {
    return reportFailure(error);
  } finally {
    cleanUp(folder);
  }
}

function checkMachine() {
  if (process.platform !== "linux")
    throw new StepFailure("npm run faults needs Linux: it mounts disks of its own to break them");
  if (process.getuid() !== 0) {
    throw new StepFailure("npm run faults needs root: it mounts disks of its own to break them", {
      fix: "run it as root, e.g. sudo npm run faults",
    });
  }
  const missing = TOOLS.filter((tool) => spawnSync("which", [tool]).status !== 0);
  if (missing.length > 0) {
    throw new StepFailure(`these tools are missing: ${missing.join(", ")}`, {
      fix: "install them, on Debian: apt-get install mount e2fsprogs coreutils gcc libc6-dev golang-go iproute2 openssl",
    });
  }
}

/** Installs Node 22, which has the other SQLite driver. Resolves with the binary's path. */
async function installNode22({ signal, outcome }) {
  const folder = join(root, ".cache/node-22");
  const binary = join(folder, `node_modules/node-linux-${process.arch}/bin/node`);
  if (existsSync(binary)) outcome("up to date");
  else {
    mkdirSync(folder, { recursive: true });
    const packages = `node-linux-${process.arch}@${NODE_22}`;
    await runCommand("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", packages], {
      signal,
      timeoutMs: 300_000,
      fix: "npm needs the network for this; look at its output above, then run the command again.",
    });
  }
  return binary;
}

async function runTests(folder, node22, signal) {
  const options22 = { SVC_NODE22: node22, SVC_FAULTS_DIR: folder, SVC_FAULTS_FIGURES: join(folder, "figures.jsonl") };
  const given = process.argv.slice(2);
  const isShort = given.includes("--short");
  const patterns = given.filter((argument) => argument !== "--short" && argument !== "--write");
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "faults", ...patterns];
  // A separate process group: engines and workers end with the tests, even if those are aborted. Otherwise they would
  // keep the disks busy.
  const options = {
    cwd: root,
    env: { ...process.env, ...options22, ...(isShort ? { SVC_FAULTS_SHORT: "1" } : {}) },
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  };
  const child = spawn(process.execPath, args, options);
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  signal.addEventListener("abort", end);
  const [code] = await once(child, "close");
  end();
  signal.throwIfAborted();
  report(options22.SVC_FAULTS_FIGURES, { isWritten: given.includes("--write") && !isShort && code === 0 });
  return code ?? 1;
}

/** Prints the results as a Markdown table, and with `--write` puts it between the markers in docs/guarantees.md. */
function report(file, { isWritten }) {
  const figures = existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).stdout?.trim();
  const rows = figures.map(({ what, result }) => `| ${what} | ${result} |`);
  const title = `Run of ${new Date().toISOString().slice(0, 10)}, commit ${commit}:`;
  const table = [title, "", "| Fault | Result |", "| --- | --- |", ...rows].join("\n");
  console.log(`\n${table}\n`);
  if (!isWritten) return;
  const page = join(root, "docs/guarantees.md");
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(`${BEGIN}\n`);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new StepFailure(`${page} has no markers for the figures: ${BEGIN} and ${END}`);
  writeFileSync(page, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}

/** Also removes leftovers of a killed test. */
function cleanUp(folder) {
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.reverse()) spawnSync("umount", ["-l", path], { stdio: "inherit" });
  // A limit stays when its device is removed, and would slow down the next one with its number. 7: loop devices.
  const limited = existsSync(WRITE_LIMITS) ? readFileSync(WRITE_LIMITS, "utf8").split("\n") : [];
  for (const line of limited.filter((each) => each.startsWith("7:")))
    writeFileSync(WRITE_LIMITS, `${line.split(" ")[0]} 0`);
  const loops =
    spawnSync("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"], { encoding: "utf8" }).stdout ?? "";
  for (const line of loops.split("\n")) {
    const [device, file = ""] = line.trim().split(/\s+/, 2);
    if (file.startsWith(`${folder}/`)) spawnSync("losetup", ["-d", device], { stdio: "inherit" });
  }
  // A namespace is named after the folder.
  const namespaces = spawnSync("ip", ["netns", "list"], { encoding: "utf8" }).stdout ?? "";
  for (const [name = ""] of namespaces.split("\n").map((line) => line.split(" ")))
    if (name.startsWith(`${basename(folder)}-`)) spawnSync("ip", ["netns", "del", name], { stdio: "inherit" });
  rmSync(folder, { recursive: true, force: true });
}
