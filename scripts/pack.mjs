// Builds and packs everything that svc publishes into a folder: one npm package for each of packages/, and the Python
// wheel. Needs nothing but a clone. `node scripts/pack.mjs FOLDER` (default: packed/).
import { join, resolve } from "node:path";
import { BUILD_STEPS, buildPackages, packPackages } from "./pack-packages.mjs";
import { packPython } from "./pack-sdks.mjs";
import { interruptSignal, reportFailure, root, stepRunner } from "./steps.mjs";

const folder = resolve(process.argv[2] ?? join(root, "packed"));
const signal = interruptSignal();
const { step } = stepRunner({ total: BUILD_STEPS + 1, signal });
try {
  await buildPackages(step);
  await step("Packing the packages", async ({ note }) => {
    const { npmPackages, pythonFiles } = await packPackages(folder, {
      signal,
      packPython: async (staging) => [await packPython(staging, { signal, note })],
    });
    for (const file of [...npmPackages.map(({ path }) => path), ...pythonFiles]) note(file);
  });
} catch (error) {
  process.exitCode = reportFailure(error);
}
