// `npm run faults`: what disks do to the engine: power cut, no room, failing syncs. Needs root and Linux, because it mounts disks of its own to break
// them; so it is no part of `npm test`. Takes down its mounts and loop devices whatever happens. SVC_SEED=n repeats a run.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, bundleCli, checkTools, installPythonTools } from "./setup.mjs";
import { interruptSignal, reportFailure, root, StepFailure, stepRunner } from "./steps.mjs";

const TOOLS = ["mount", "umount", "losetup", "mkfs.ext4", "truncate", "cp", "cc"];
process.exitCode = await main();

async function main() {
  const signal = interruptSignal();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-faults-")));
  try {
    const { step } = stepRunner({ total: 5, signal });
    await step("Checking root and tools", checkMachine);
    await step("Checking Node and Python", checkTools);
    await step("Building", build);
    await step("Bundling svc", bundleCli);
    await step("Installing the Python tools", installPythonTools);
    return await runTests(folder, signal);
  } catch (error) {
    return reportFailure(error);
  } finally {
    cleanUp(folder);
  }
}

function checkMachine() {
  if (process.platform !== "linux") throw new StepFailure("npm run faults needs Linux: it mounts disks of its own to break them");
  if (process.getuid() !== 0) {
    throw new StepFailure("npm run faults needs root: it mounts disks of its own to break them", { fix: "run it as root, e.g. sudo npm run faults" });
  }
  const missing = TOOLS.filter((tool) => spawnSync("which", [tool]).status !== 0);
  if (missing.length > 0) {
    throw new StepFailure(`these tools are missing: ${missing.join(", ")}`, {
      fix: "install them, on Debian: apt-get install mount e2fsprogs coreutils gcc libc6-dev",
    });
  }
}

async function runTests(folder, signal) {
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "faults", ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, SVC_FAULTS_DIR: folder }, stdio: ["ignore", "inherit", "inherit"], signal });
  child.on("error", () => {});
  const [code] = await once(child, "close");
  return code ?? 1;
}

/** Also what a test left behind that was killed. */
function cleanUp(folder) {
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.reverse()) spawnSync("umount", ["-l", path], { stdio: "inherit" });
  const loops = spawnSync("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"], { encoding: "utf8" }).stdout ?? "";
  for (const line of loops.split("\n")) {
    const [device, file = ""] = line.trim().split(/\s+/, 2);
    if (file.startsWith(`${folder}/`)) spawnSync("losetup", ["-d", device], { stdio: "inherit" });
  }
  rmSync(folder, { recursive: true, force: true });
}
