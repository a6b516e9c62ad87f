// Bundles the built CLI into packages/cli/bundle/. A process start then reads a few files instead of some 230, which
// halves the time until the engine listens and saves a sixth of its memory. `node scripts/bundle-cli.mjs` runs it
// alone, after `npm run build`.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const packagesDir = fileURLToPath(new URL("../packages", import.meta.url));
const bundleDir = join(packagesDir, "cli/bundle");
const ENTRY = "main.js";
/** Lists the files of the bundle, and the folders of the packages of which it contains copies. For the packing. */
const CONTENTS = "contents.json";
/** Native code, and optional packages. */
const EXTERNAL = ["libsql", "bufferutil", "utf-8-validate"];
/** A running engine may still load files of its bundle, so old files are kept for this time, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Writes a new bundle. Rejects with the bundler's error, without changing the previous bundle. */
export async function writeBundle() {
  const startedMs = Date.now();
  const files = await generate();
  await mkdir(bundleDir, { recursive: true });
  // The entry is replaced last: until then the previous entry finds all its files.
  for (const [name, content] of files.sort(([a], [b]) => Number(a === ENTRY) - Number(b === ENTRY)))
    await putInPlace(name, content, startedMs);
  await dropOldFiles(new Set(files.map(([name]) => name)), startedMs);
}

async function generate() {
  const bundle = await rolldown({
    input: join(packagesDir, "cli/dist", ENTRY),
    platform: "node",
    external: EXTERNAL,
    plugins: [ownModules],
    // A warning means an import that would fail at run time, or a similar error.
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({
      dir: bundleDir,
      format: "esm",
      entryFileNames: ENTRY,
      // No subfolders: `ownModules` returns file URLs relative to the bundle's folder.
      chunkFileNames: (chunk) => `${chunkName(chunk)}-[hash].js`,
      // Linked instead of inline: unused unless Node runs with --enable-source-maps.
      sourcemap: true,
      sourcemapExcludeSources: true,
      // Names of functions and classes are kept for stack traces. Positions come from the source map. White space is
      // removed and local variables get short names: Node parses each file at every start, and keeps its whole source in
      // memory, which was 2.5 MB of an idle engine's 75. One character beyond Latin-1 would double it.
      comments: { legal: true, annotation: false, jsdoc: false },
      charset: "ascii",
      minify: { compress: false, mangle: { toplevel: false, keepNames: true }, codegen: { removeWhitespace: true } },
    });
    const chunks = output.filter(({ type }) => type === "chunk");
    const contents = {
      files: chunks.map(({ fileName }) => fileName).sort(),
      packages: [...new Set(chunks.flatMap(({ moduleIds }) => moduleIds.map(packageFolder)))].filter(Boolean).sort(),
    };
    return [
      ...output.map((file) => [file.fileName, file.type === "chunk" ? file.code : file.source]),
      [CONTENTS, JSON.stringify(contents)],
    ];
  } finally {
    await bundle.close();
  }
}

/** Returns the folder of the package of others that a module belongs to, relative to the repository. */
function packageFolder(moduleId) {
  const [, folder] = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(moduleId) ?? [];
  return folder && relative(join(packagesDir, ".."), folder).split(sep).join("/");
}

/**
 * Loads svc's modules so that each still finds files relative to its built file, e.g. the store thread and
 * package.json, and source maps refer to the TypeScript. Other packages than the CLI's are looked up by name: npm decides
 * where it installs them.
 */
const ownModules = {
  name: "own-modules",
  load: {
    filter: { id: /[\\/]packages[\\/][a-z]+[\\/]dist[\\/].*\.js$/ },
    async handler(id) {
      const [code, map] = await Promise.all([readFile(id, "utf8"), readFile(`${id}.map`, "utf8")]);
      const [name] = relative(packagesDir, id).split(sep);
      const [folder, base] = name === "cli" ? [bundleDir, "import.meta.url"] : await entryOf(name);
      const path = relative(folder, id).replaceAll(sep, "/");
      return { code: code.replaceAll("import.meta.url", `new URL(${JSON.stringify(path)}, ${base}).href`), map };
    },
  },
};

/** Returns the folder of a package's entry, and the code whose value is the URL of the entry at run time. */
async function entryOf(name) {
  const facts = JSON.parse(await readFile(join(packagesDir, name, "package.json"), "utf8"));
  const folder = dirname(join(packagesDir, name, facts.exports["."].default));
  return [folder, `import.meta.resolve(${JSON.stringify(facts.name)})`];
}

/**
 * Returns the name of a chunk: the package whose entry ends it, e.g. `engine` or `yaml`, else the file's own name, e.g.
 * `start-failure`.
 */
function chunkName({ name, moduleIds }) {
  const last = moduleIds.at(-1) ?? "";
  return (
    /[\\/]node_modules[\\/]([\w-]+)[\\/]/.exec(last)?.[1] ??
    /[\\/]packages[\\/]([a-z]+)[\\/]dist[\\/](?:index|node)\.js$/.exec(last)?.[1] ??
    name
  );
}

/**
 * Replaces a file atomically. Its date is the start of the bundling: a build that ends meanwhile makes the bundle
 * outdated.
 */
async function putInPlace(name, content, madeAtMs) {
  const temporary = join(bundleDir, `${name}.${process.pid}.new`);
  await writeFile(temporary, content);
  await utimes(temporary, madeAtMs / 1000, madeAtMs / 1000);
  await rename(temporary, join(bundleDir, name));
}

async function dropOldFiles(current, nowMs) {
  for (const name of await readdir(bundleDir)) {
    if (current.has(name)) continue;
    const file = join(bundleDir, name);
    const found = await stat(file).catch(ignoreMissing);
    if (found !== undefined && nowMs - found.mtimeMs > KEPT_MS) await rm(file, { force: true });
  }
}

function ignoreMissing(error) {
  if (error.code !== "ENOENT") throw error;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeBundle();
