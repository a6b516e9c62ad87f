// Packs what new projects install: the SDKs, packages/cli/assets/svc-runtime-sdk-<version>.tgz and
// svc_runtime-<version>+project-py3-none-any.whl, and for tests the engine, svc-runtime-engine-<version>.tgz. The npm packages contain
// those of svc that they need, because svc's packages are not on a registry. Runs after `tsc -b`. Does nothing if the
// sources have not changed since the last run. `node scripts/pack-sdks.mjs` runs it alone.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureVenv } from "./python-environment.mjs";
import { npmPack, stagePackage } from "./stage-package.mjs";
import { interruptSignal, reportFailure, root, runCommand, StepFailure, stepRunner } from "./steps.mjs";

export const assetsDir = join(root, "packages/cli/assets");
const hashFile = join(assetsDir, "sources.sha256");

/**
 * Packs the SDKs and the engine unless they are packed already.
 * @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context
 */
export async function packSdks({ signal, note, outcome }) {
  const hash = await sourcesHash();
  if ((await packedHash()) === hash) {
    outcome("up to date");
    return;
  }
  await mkdir(assetsDir, { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), "svc-pack-"));
  try {
    const stages = [
      await stageWith(["protocol"], "sdk", staging),
      await stageWith(["protocol", "observability"], "engine", staging),
    ];
    const packages = [
      ...(await npmPack(stages, staging, { signal })).map(({ path }) => path),
      await packPython(staging, { signal, note, label: "+project" }),
    ];
    // Old versions must not reach new projects. The hash is deleted first, so that an interrupted run is repeated.
    await rm(assetsDir, { recursive: true, force: true });
    await mkdir(assetsDir, { recursive: true });
    for (const file of packages) await cp(file, join(assetsDir, basename(file)));
    const temporary = `${hashFile}.new`;
    await writeFile(temporary, `${hash}\n`);
    await rename(temporary, hashFile);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Returns the hash of the sources of the packed SDKs. Undefined if there are none. */
export async function packedHash() {
  if (!existsSync(hashFile)) return undefined;
  const names = await readdir(assetsDir);
  const complete = names.some((name) => name.endsWith(".tgz")) && names.some((name) => name.endsWith(".whl"));
  return complete ? (await readFile(hashFile, "utf8")).trim() : undefined;
}

/** Returns a hash of everything that determines the contents of the packages. */
async function sourcesHash() {
  const roots = [
    "packages/protocol/src",
    "packages/protocol/package.json",
    "packages/sdk/src",
    "packages/sdk/package.json",
    "packages/engine/src",
    "packages/engine/package.json",
    "packages/observability/src",
    "packages/observability/package.json",
    "tsconfig.base.json",
    "python/src",
    "python/pyproject.toml",
    "python/README.md",
    "scripts/pack-sdks.mjs",
    "scripts/stage-package.mjs",
    "scripts/published-files.mjs",
    "scripts/published-readme.mjs",
    "packages/engine/README.md",
    "packages/sdk/README.md",
  ];
  const hash = createHash("sha256");
  for (const file of (await Promise.all(roots.map(filesOf))).flat()) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(await readFile(file))
      .update("\0");
  }
  return hash.digest("hex");
}

async function filesOf(path) {
  const absolute = join(root, path);
  if (!existsSync(absolute)) return [];
  const entries = await readdir(absolute, { withFileTypes: true, recursive: true }).catch((error) => {
    if (error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (entries === undefined) return [absolute];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](?:__pycache__|[^\\/]+\.egg-info)[\\/]/.test(file))
    .sort();
}

/** Stages a package that contains others of svc, which may import it. Resolves with the folder. */
async function stageWith(contained, name, staging) {
  const stage = join(staging, name);
  const dist = join(stage, "dist");
  const { peerDependencies: _, ...facts } = await stagePackage(name, stage);
  const inner = [];
  for (const other of contained) {
    const folder = join(staging, `${name}-${other}`);
    const inside = join(dist, other);
    inner.push({ ...(await stagePackage(other, folder)), inside });
    await cp(join(folder, "dist"), inside, { recursive: true });
  }
  await importByPath(dist, inner);
  const own = [facts, ...inner].map((one) => one.name);
  const needed = [facts, ...inner].flatMap(({ dependencies }) => Object.entries(dependencies));
  const dependencies = Object.fromEntries(needed.filter(([dependency]) => !own.includes(dependency)).sort());
  await writeFile(join(stage, "package.json"), JSON.stringify({ ...facts, dependencies }, null, 2));
  return stage;
}

/**
 * Makes the built files in `folder` import the packages by their paths inside of it. As bundled dependencies npm alone
 * would find them: Bun and Yarn ask the registry for them all the same. `inside`: a package's dist folder there.
 * `exports`: from its package.json.
 */
async function importByPath(folder, packages) {
  const pattern = new RegExp(
    `((?:\\bfrom|\\bimport) ?\\(?)["'](${packages.map(({ name }) => name).join("|")})(/[^"']+)?["']`,
    "g",
  );
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  for (const entry of entries.filter((found) => found.isFile() && /\.js$|\.d\.ts$/.test(found.name))) {
    const file = join(entry.parentPath, entry.name);
    const text = await readFile(file, "utf8");
    const rewritten = text.replaceAll(pattern, (_, before, name, subpath = "") => {
      const { exports, inside } = packages.find((one) => one.name === name);
      const built = exports[`.${subpath}`]?.default;
      if (built === undefined)
        throw new StepFailure(
          `${relative(folder, file)} imports ${name}${subpath}, which is not in the exports of ${name}`,
        );
      const path = relative(entry.parentPath, join(inside, relative("dist", built)));
      return before + JSON.stringify(path.startsWith(".") ? path : `./${path}`);
    });
    if (rewritten !== text) await writeFile(file, rewritten);
  }
}

/** Copies what the Python package is built from into a folder. */
export async function stagePython(target) {
  for (const name of ["src", "pyproject.toml", "README.md", "LICENSE"])
    await cp(join(root, "python", name), join(target, name), {
      recursive: true,
      filter: (file) => !/__pycache__|\.egg-info/.test(file),
    });
}

/**
 * Builds the wheel of python/ in `staging`. Resolves with its path. `label` is added to the version of the package:
 * registries accept no version with `+`, so pip cannot take a package of a registry in its place.
 */
export async function packPython(staging, { signal, note, label = "" }) {
  const python = await ensureVenv({ signal, note });
  const out = join(staging, "wheel");
  const source = join(staging, "python");
  await stagePython(source);
  const versionFile = join(source, "src/svc/version.py");
  const [, version] = /VERSION = "([^"]+)"/.exec(await readFile(versionFile, "utf8"));
  const config = join(source, "pyproject.toml");
  const text = await readFile(config, "utf8");
  await writeFile(config, text.replace('dynamic = ["version"]', `version = "${version}${label}"`));
  await runCommand(
    python,
    ["-m", "pip", "wheel", "--no-deps", "--quiet", "--disable-pip-version-check", "--wheel-dir", out, source],
    {
      signal,
      fix: "see the output above; pip needs the network once, for the build tool that python/pyproject.toml names.",
    },
  );
  const wheel = (await readdir(out)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new StepFailure("pip built no wheel of python/");
  return join(out, wheel);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Packing the SDKs", packSdks);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
