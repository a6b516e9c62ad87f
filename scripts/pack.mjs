// Builds and packs everything that svc publishes into a folder: one npm package for each of packages/, and the Python
// wheel. Needs nothing but a clone. `node scripts/pack.mjs FOLDER` (default: packed/).
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { packPython, packSdks } from "./pack-sdks.mjs";
import { build, buildConsolePage, checkTools, installPackages } from "./setup.mjs";
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
    const [files, built] = await Promise.all([
      npmPack(stages, folder, { signal }),
      packPython(staging, { signal, note }),
    ]);
    const wheel = join(folder, basename(built));
    await cp(built, wheel);
    for (const file of [...files, wheel]) note(file);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const signal = interruptSignal();
const { step } = stepRunner({ total: 6, signal });
try {
  await step("Checking Node and Python", checkTools);
  await step("Installing packages", installPackages);
  // `npm run check` checks the types, which takes as long as compiling.
  await step("Building", (context) => build(context, ".", ["--noCheck"]));
  await step("Building the console's page", buildConsolePage);
  // The CLI's package contains them for new projects.
  await step("Packing the SDKs", packSdks);
  await step("Packing the packages", packAll);
} catch (error) {
  process.exitCode = reportFailure(error);
}
