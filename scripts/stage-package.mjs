// Copies what a package publishes into a folder, and packs it. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { npm, root, StepFailure } from "./steps.mjs";

/** Also omits source maps: they refer to sources that are not published. */
const NOT_PUBLISHED = /\.test\.|\.test[-.]support\.|\.tsbuildinfo$|\.map$|[\\/]testing(?:[\\/]|$)/;

/**
 * Copies what a package publishes: its files without tests, the licence, and a package.json without references to other
 * files. Resolves with the package.json.
 */
export async function stagePackage(name, target) {
  const source = join(root, "packages", name);
  const {
    devDependencies: _dev,
    scripts: _scripts,
    ...facts
  } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  await mkdir(target, { recursive: true });
  for (const path of facts.files.filter((pattern) => !pattern.startsWith("!"))) {
    if (!existsSync(join(source, path)))
      throw new StepFailure(`packages/${name}/${path} is not built`, { fix: "run `npm run build` first." });
    await cp(join(source, path), join(target, path), { recursive: true, filter: (file) => !NOT_PUBLISHED.test(file) });
  }
  await cp(join(root, "LICENSE"), join(target, "LICENSE"));
  await cp(join(source, "README.md"), join(target, "README.md")).catch(ignoreMissing);
  const exports = withoutSources(facts.exports);
  const published = { ...facts, ...(exports === undefined ? {} : { exports }) };
  await writeFile(join(target, "package.json"), JSON.stringify(published, null, 2));
  return published;
}

/** Returns the entries of `exports` that refer to published files. */
function withoutSources(exports) {
  if (exports === undefined) return undefined;
  return JSON.parse(
    JSON.stringify(exports, (key, value) => (key === "@svc/source" || key.startsWith("./testing") ? undefined : value)),
  );
}

function ignoreMissing(error) {
  if (error.code !== "ENOENT") throw error;
}

/**
 * Packs staged packages into `destination`. Resolves with the files' paths. One run of npm packs all, since its start
 * takes longer than the packing.
 */
export async function npmPack(stages, destination, { signal }) {
  const { stdout } = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", destination, ...stages], {
    signal,
  });
  return JSON.parse(stdout).map(({ filename }) => join(destination, filename));
}
