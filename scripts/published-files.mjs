// Lists the files that a package publishes, for `stage-package.mjs`, which copies them. `files` in the package.json names
// folders; this file decides what of them is published. It derives the compiled files from the sources, so that a missing
// build fails and a leftover of an older build is not published. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { StepFailure } from "./steps.mjs";

/** Sources whose output is not published: tests and what only they import. */
const TEST_SOURCE = /\.test\.|\.test[-.]support\.|(?:^|\/)testing\//;
/** Files that running a template in place creates, and the note of the SDKs' sources. */
const GENERATED = /(?:^|\/)(?:node_modules|\.venv|__pycache__|\.pytest_cache|\.svc)\/|\.sha256$/;
/** Files that the build of the page compresses. */
const COMPRESSED = /\.(?:css|js|svg)$/;

/**
 * Resolves with the files that a package publishes, relative to its folder, with `/`, in order: the compiler's output
 * of its sources, the console's page, the CLI's bundle, and all files of the other folders in `files` of its package.json. Rejects with
 * StepFailure if one of them does not exist.
 */
export async function publishedFiles(folder) {
  const { files } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const named = files.filter((pattern) => !pattern.startsWith("!"));
  const found = await Promise.all(
    named.map(async (path) => {
      if (path === "dist") return builtFiles(folder);
      return path === "bundle" ? bundleFiles(folder) : below(folder, path);
    }),
  );
  const published = found.flat().sort();
  const missing = published.filter((file) => !existsSync(join(folder, file)));
  const empty = named.filter((_, at) => found[at].length === 0);
  const problem = [...missing, ...empty][0];
  if (problem === undefined) return published;
  throw new StepFailure(`${join(folder, problem)} does not exist, so the package would be incomplete`, {
    fix: "run `node scripts/pack.mjs`, which builds what it packs.",
  });
}

/** Returns the files of the bundle of the CLI, which its bundler lists. Empty if there is none. */
async function bundleFiles(folder) {
  const contents = join(folder, "bundle/contents.json");
  if (!existsSync(contents)) return [];
  const { files } = JSON.parse(await readFile(contents, "utf8"));
  return files.map((file) => `bundle/${file}`);
}

async function builtFiles(folder) {
  const hasPage = existsSync(join(folder, "vite.config.ts"));
  const sources = (await below(folder, "src"))
    .map((file) => file.slice("src/".length))
    .filter((file) => /\.ts$/.test(file) && !/\.d\.ts$/.test(file) && !TEST_SOURCE.test(file))
    .filter((file) => !hasPage || !file.startsWith("web/"));
  const compiled = sources.flatMap((file) => [".js", ".d.ts"].map((end) => `dist/${file.replace(/\.ts$/, end)}`));
  return hasPage ? [...compiled, ...(await pageFiles(folder))] : compiled;
}

/** Returns the files of the page: those that the bundler's manifest names, compressed ones, and static ones. */
async function pageFiles(folder) {
  const web = "dist/web";
  const manifest = join(folder, web, "manifest.json");
  if (!existsSync(manifest)) return [`${web}/index.html`];
  const entries = Object.values(JSON.parse(await readFile(manifest, "utf8")));
  const assets = [...new Set(entries.flatMap(({ file, css = [], assets: others = [] }) => [file, ...css, ...others]))];
  const fixed = (await below(join(folder, "src/web"), "public")).map((file) => file.slice("public/".length));
  const compressed = assets.filter((file) => COMPRESSED.test(file)).flatMap((file) => [`${file}.br`, `${file}.gz`]);
  return ["index.html", ...fixed, ...assets, ...compressed].map((file) => posix.join(web, file));
}

/** Returns the files below a folder of the package, without generated ones. Empty if it does not exist. */
async function below(folder, path) {
  if (!existsSync(join(folder, path))) return [];
  const entries = await readdir(join(folder, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((file) => !GENERATED.test(file));
}
