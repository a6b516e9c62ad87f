import { readdir } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { workerNameProblem } from "./worker-name.ts";

/** How far above a worker's folder the project's `sdk/` folder is looked for: `workers/<name>` lies two below the project. */
const MAX_LEVELS_UP = 3;

/** What a folder without a manifest needs to run as a worker: the manifest, and where its dependencies come from. */
export async function exampleFor(folder: string, files: readonly string[]): Promise<string> {
  const isPython = files.some((file) => file.endsWith(".py") || file === "requirements.txt" || file === "pyproject.toml");
  const name = workerNameProblem(basename(folder)) === undefined ? basename(folder) : "my-worker";
  const script = files.find((file) => (isPython ? file.endsWith(".py") : /\.[mc]?[jt]s$/.test(file)));
  const entry = script ?? (isPython ? "worker.py" : "src/worker.ts");
  const kind = isPython ? "python" : /\.[mc]?js$/.test(entry) ? "javascript" : "typescript";
  const lines = [`name: ${name}`, "runtime:", `  kind: ${kind}`, `  package_manager: ${isPython ? "pip" : "npm"}`, `  entry: ${entry}`];
  const needs = isPython ? await pythonNeeds(folder, files) : await nodeNeeds(folder, { files, kind });
  return ["A minimal example:", "", ...lines, "", needs].join("\n");
}

async function pythonNeeds(folder: string, files: readonly string[]): Promise<string> {
  const wheel = (await findSdk(folder, /^svc-.*\.whl$/)) ?? "sdk/svc-VERSION-py3-none-any.whl of your project";
  const has = files.includes("requirements.txt") ? "the requirements.txt beside it must hold" : "beside it a requirements.txt is needed that holds";
  return `${entryNote("worker.py", files, /\.py$/)}${capital(has)} the svc package, as the line: ${wheel}`;
}

async function nodeNeeds(folder: string, { files, kind }: { readonly files: readonly string[]; readonly kind: string }): Promise<string> {
  const sdk = (await findSdk(folder, /^svc-sdk-.*\.tgz$/)) ?? "PROJECT/sdk/svc-sdk-VERSION.tgz";
  const packages = kind === "typescript" ? "@svc/sdk and tsx" : "@svc/sdk";
  // Without a package.json of its own npm would install into a folder above.
  const make = files.includes("package.json") ? "" : "npm init -y && ";
  const install = `${make}npm pkg set type=module && npm install ${sdk}${kind === "typescript" ? " tsx" : ""}`;
  return `${entryNote("src/worker.ts", files, /\.[mc]?[jt]s$|^src$/)}Beside it a package.json is needed that names ${packages}; to make it, run there: ${install}`;
}

function entryNote(entry: string, files: readonly string[], pattern: RegExp): string {
  return files.some((file) => pattern.test(file)) ? "" : `${entry} is yours to write. `;
}

/** The path, from the worker's folder, of an SDK package that came with the project. */
async function findSdk(folder: string, pattern: RegExp): Promise<string | undefined> {
  for (let level = 0; level <= MAX_LEVELS_UP; level++) {
    const sdkFolder = join(folder, ...Array.from({ length: level }, () => ".."), "sdk");
    // Not there, or not for us to read: then it is no help here.
    const names = await readdir(sdkFolder).catch(() => []);
    const found = names
      .filter((name) => pattern.test(name))
      .sort()
      .at(-1);
    if (found !== undefined) return `${level === 0 ? "./" : ""}${relative(folder, join(sdkFolder, found)).split(sep).join("/")}`;
  }
  return undefined;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
