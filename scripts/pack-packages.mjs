// Builds and packs everything that svc publishes: one npm package for each of packages/, and the Python package. Needs
// nothing but a clone. scripts/pack.mjs and scripts/release.mjs run it.
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { packSdks } from "./pack-sdks.mjs";
import { build, buildConsolePage, bundleCli, checkTools, installPackages } from "./setup.mjs";
import { npmPack, stagePackage } from "./stage-package.mjs";

/** Folders of packages/, each after those that it needs. */
export const PACKAGES = ["protocol", "sdk", "engine", "observability", "console", "cli"];

/** Number of steps that `buildPackages` runs. */
export const BUILD_STEPS = 6;

/** Installs and builds what the packages contain. `step`: see `stepRunner`. */
export async function buildPackages(step) {
  await step("Checking Node and Python", checkTools);
  await step("Installing packages", installPackages);
  // `npm run check` checks the types, which takes as long as compiling.
  await step("Building", (context) => build(context, ".", ["--noCheck"]));
  await step("Bundling the CLI", bundleCli);
  await step("Building the console's page", buildConsolePage);
  // The CLI's package contains them for new projects.
  await step("Packing the SDKs", packSdks);
}

/**
 * Packs the built packages into a folder. `packPython` packs the Python package in a temporary folder and resolves with
 * the paths of the files. Resolves with the tarballs of `npmPack` and with the paths of the Python files.
 *
 * @param {string} folder
 * @param {{ signal: AbortSignal, packPython: (staging: string) => Promise<readonly string[]> }} options
 */
export async function packPackages(folder, { signal, packPython }) {
  await mkdir(folder, { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), "svc-pack-"));
  try {
    const stages = PACKAGES.map((name) => join(staging, name));
    await Promise.all(PACKAGES.map((name, at) => stagePackage(name, stages[at])));
    const [npmPackages, built] = await Promise.all([npmPack(stages, folder, { signal }), packPython(staging)]);
    const pythonFiles = built.map((file) => join(folder, basename(file)));
    for (const [at, file] of pythonFiles.entries()) await cp(built[at], file);
    return { npmPackages, pythonFiles };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}
