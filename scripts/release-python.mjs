// Builds the Python package for PyPI: an sdist, and a wheel from it. Plain Node without dependencies.
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { stagePython } from "./pack-sdks.mjs";
import { root, runCommand } from "./steps.mjs";

const SOURCE = "python/src";

/**
 * Builds the sdist and the wheel in `staging`. Resolves with their paths. `python` has the packages of
 * scripts/release-tools/requirements.txt.
 */
export async function buildPythonDistributions(python, staging, signal) {
  const out = join(staging, "distributions");
  const source = join(staging, "python");
  await stagePython(source);
  // The wheel is built from the sdist, which shows that the sdist is complete.
  await runCommand(python, ["-m", "build", "--no-isolation", "--outdir", out, source], { signal });
  return (await readdir(out)).sort().map((name) => join(out, name));
}

/** Resolves with the paths that a wheel or an sdist of a version must have. */
export async function pythonDistributionFiles(kind, version) {
  const entries = await readdir(join(root, SOURCE), { recursive: true, withFileTypes: true });
  const sources = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(root, SOURCE), join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((file) => !/(?:^|\/)__pycache__\/|\.egg-info\//.test(file));
  if (kind === "sdist")
    return [...sources.map((file) => `src/${file}`), "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"];
  const metadata = ["METADATA", "RECORD", "WHEEL", "licenses/LICENSE"];
  return [...sources, ...metadata.map((file) => `svc_runtime-${version}.dist-info/${file}`)];
}
