// Bundles the built CLI into packages/cli/bundle/: one process start then reads a few files instead of some 230, which halves the time until
// the engine listens and saves a sixth of its memory. `node scripts/bundle-cli.mjs` runs it alone; `npm run build` comes first.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const packagesDir = fileURLToPath(new URL("../packages", import.meta.url));
const bundleDir = join(packagesDir, "cli/bundle");
const ENTRY = "main.js";
/** Native code, and what its users do without when it is missing. */
const EXTERNAL = ["libsql", "bufferutil", "utf-8-validate"];
/** An engine that runs may still load files of the bundle it was started from, so these stay for a while, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Makes the bundle anew. Rejects with what the bundler says; the bundle of before is then untouched. */
export async function writeBundle() {
  const startedMs = Date.now();
  const files = await generate();
  await mkdir(bundleDir, { recursive: true });
  // The entry comes last: until then the former one finds all its files.
  for (const [name, content] of files.sort(([a], [b]) => Number(a === ENTRY) - Number(b === ENTRY))) await putInPlace(name, content, startedMs);
  await dropOldFiles(new Set(files.map(([name]) => name)), startedMs);
}

async function generate() {
  const bundle = await rolldown({
    input: join(packagesDir, "cli/dist", ENTRY),
    platform: "node",
    external: EXTERNAL,
    plugins: [ownModules],
    // A warning tells of an import that would fail when the program runs, or of the like.
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({
      dir: bundleDir,
      format: "esm",
      entryFileNames: ENTRY,
      // Flat: `ownModules` gives file URLs relative to the bundle's folder.
      chunkFileNames: (chunk) => `${chunkName(chunk)}-[hash].js`,
      // Linked and not inline: they cost nothing unless Node runs with --enable-source-maps.
      sourcemap: true,
      sourcemapExcludeSources: true,
      // Names stay, so that stack traces can be read; their places in the file are for the source map. White space goes: Node keeps a
      // file's whole source in memory, which made 2.5 MB of an idle engine's 75. One character beyond Latin-1 would double it.
      comments: { legal: true, annotation: false, jsdoc: false },
      charset: "ascii",
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    });
    return output.map((file) => [file.fileName, file.type === "chunk" ? file.code : file.source]);
  } finally {
    await bundle.close();
  }
}

/**
 * Reads our own modules: each goes on finding files relative to where it was built, e.g. the store thread and package.json,
 * and source maps lead to the TypeScript.
 */
const ownModules = {
  name: "own-modules",
  load: {
    filter: { id: /[\\/]packages[\\/][a-z]+[\\/]dist[\\/].*\.js$/ },
    async handler(id) {
      const [code, map] = await Promise.all([readFile(id, "utf8"), readFile(`${id}.map`, "utf8")]);
      const fromBundle = relative(bundleDir, id).replaceAll(sep, "/");
      return { code: code.replaceAll("import.meta.url", `new URL(${JSON.stringify(fromBundle)}, import.meta.url).href`), map };
    },
  },
};

/** The package whose entry ends the chunk, e.g. `engine` or `yaml`; else the file's own name, e.g. `start-failure`. */
function chunkName({ name, moduleIds }) {
  const last = moduleIds.at(-1) ?? "";
  return /[\\/]node_modules[\\/]([\w-]+)[\\/]/.exec(last)?.[1] ?? /[\\/]packages[\\/]([a-z]+)[\\/]dist[\\/](?:index|node)\.js$/.exec(last)?.[1] ?? name;
}

/** Whole or not at all. Dated when the bundling began: a build that ends in between makes the bundle an old one. */
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
