// Copies what a package publishes into a folder, and packs it. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { publishedFiles } from "./published-files.mjs";
import { npm, root, StepFailure } from "./steps.mjs";

/**
 * Copies what a package publishes: its files, the licence, and a package.json without references to other files.
 * Resolves with the package.json.
 */
export async function stagePackage(name, target) {
  const source = join(root, "packages", name);
  const {
    devDependencies: _dev,
    scripts: _scripts,
    ...facts
  } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  await mkdir(target, { recursive: true });
  for (const file of await publishedFiles(source)) await cp(join(source, file), join(target, file));
  await cp(join(root, "LICENSE"), join(target, "LICENSE"));
  if (existsSync(join(source, "README.md"))) await cp(join(source, "README.md"), join(target, "README.md"));
  const exports = withoutSources(facts.exports);
  const published = { ...facts, ...(exports === undefined ? {} : { exports }) };
  await writeFile(join(target, "package.json"), JSON.stringify(published, null, 2));
  return published;
}

/** Returns the entries of `exports` that refer to published files. */
function withoutSources(exports) {
  if (exports === undefined) return undefined;
  return JSON.parse(
    JSON.stringify(exports, (key, value) =>
      key === "@svc-runtime/source" || key.startsWith("./testing") ? undefined : value,
    ),
  );
}

/**
 * Packs staged packages into `destination`. Resolves with the files' paths. Rejects with StepFailure if a tarball does
 * not contain exactly the staged files. One run of npm packs all, since its start takes longer than the packing.
 */
export async function npmPack(stages, destination, { signal }) {
  const { stdout } = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", destination, ...stages], {
    signal,
  });
  const packed = JSON.parse(stdout);
  for (const [at, stage] of stages.entries()) {
    const { name, files } = packed[at];
    const problem = contentProblem(
      files.map(({ path }) => path),
      await filesOf(stage),
    );
    if (problem !== undefined) throw new StepFailure(`the package ${name} ${problem}`);
  }
  return packed.map(({ filename }) => join(destination, filename));
}

/** Returns how the files of a tarball differ from the expected ones; undefined if they do not. */
export function contentProblem(packed, expected) {
  const missing = expected.filter((file) => !packed.includes(file));
  const additional = packed.filter((file) => !expected.includes(file));
  if (missing.length > 0) return `lacks ${missing.join(", ")}: check \`files\` in its package.json and ignore files`;
  return additional.length > 0 ? `contains ${additional.join(", ")}, which it should not` : undefined;
}

async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
}
