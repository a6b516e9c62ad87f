// Copies what a package publishes into a folder, and packs it. Plain Node without dependencies.
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { publishedFiles } from "./published-files.mjs";
import { publishedReadme } from "./published-readme.mjs";
import { npm, root, StepFailure } from "./steps.mjs";
import { NOTICES, thirdPartyNotices } from "./third-party-notices.mjs";

/**
 * Copies what a package publishes: its files, its README, the licence, those of the packages that it contains copies of,
 * and a package.json without references to other files. Resolves with the package.json.
 */
export async function stagePackage(name, target) {
  const source = join(root, "packages", name);
  const { repository } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const {
    devDependencies: _dev,
    scripts: _scripts,
    ...facts
  } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  await mkdir(target, { recursive: true });
  for (const file of await publishedFiles(source)) await cp(join(source, file), join(target, file));
  await cp(join(root, "LICENSE"), join(target, "LICENSE"));
  const directory = `packages/${name}`;
  const readme = await readFile(join(source, "README.md"), "utf8");
  const base = repository && `${repository.url.replace(/^git\+|\.git$/g, "")}/blob/v${facts.version}`;
  await writeFile(join(target, "README.md"), publishedReadme(readme, { folder: directory, base }));
  const notices = await thirdPartyNotices(source);
  if (notices !== undefined) await writeFile(join(target, NOTICES), notices);
  const exports = withoutSources(facts.exports);
  const published = {
    ...facts,
    files: notices === undefined ? facts.files : [...facts.files, NOTICES],
    ...(repository && { repository: { ...repository, directory } }),
    ...(exports === undefined ? {} : { exports }),
  };
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
 * Packs staged packages into `destination`. Resolves with the tarballs: `expected` are the paths that each contains.
 * Rejects with StepFailure if a tarball does not contain exactly the staged files. One run of npm packs all, since its
 * start takes longer than the packing.
 *
 * @param {readonly string[]} stages
 * @param {string} destination
 * @param {{ signal: AbortSignal }} options
 * @returns {Promise<{ name: string, path: string, expected: readonly string[] }[]>}
 */
export async function npmPack(stages, destination, { signal }) {
  const { stdout } = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", destination, ...stages], {
    signal,
  });
  const packed = JSON.parse(stdout);
  const tarballs = [];
  for (const [at, stage] of stages.entries()) {
    const { name, filename, files } = packed[at];
    const expected = await filesOf(stage);
    const problem = contentProblem(
      files.map(({ path }) => path),
      expected,
    );
    if (problem !== undefined) throw new StepFailure(`the package ${name} ${problem}`);
    tarballs.push({ name, path: join(destination, filename), expected });
  }
  return tarballs;
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
