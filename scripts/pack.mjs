// Packs everything that svc publishes into a folder: one npm package for each of packages/, and the Python wheel. `node
// scripts/pack.mjs FOLDER` (default: packed/), after `npm start` or `npm test`, which build its inputs.
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { assetsDir, packSdks } from "./pack-sdks.mjs";
import { npmPack, stagePackage } from "./stage-package.mjs";
import { interruptSignal, reportFailure, root, stepRunner } from "./steps.mjs";

const PACKAGES = ["protocol", "sdk", "engine", "observability", "console", "cli"];
const folder = resolve(process.argv[2] ?? join(root, "packed"));

async function packAll({ signal, note }) {
  await mkdir(folder, { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), "svc-pack-"));
  try {
    const stages = PACKAGES.map((name) => join(staging, name));
    await Promise.all(PACKAGES.map((name, at) => stagePackage(name, stages[at])));
    for (const file of [...(await npmPack(stages, folder, { signal })), await copyWheel()]) note(file);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Copies the wheel that the previous step built. */
async function copyWheel() {
  const wheel = (await readdir(assetsDir)).find((name) => name.endsWith(".whl"));
  await cp(join(assetsDir, wheel), join(folder, wheel));
  return join(folder, wheel);
}

const signal = interruptSignal();
const { step } = stepRunner({ total: 2, signal });
try {
  // The CLI's package contains them for new projects.
  await step("Packing the SDKs", packSdks);
  await step("Packing the packages", packAll);
} catch (error) {
  process.exitCode = reportFailure(error);
}
