import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { workerNameProblem } from "./worker-name.ts";

/**
 * Number of levels above a worker's folder that are searched for the project's `sdk/` folder. A worker is usually in
 * `workers/<name>`, two levels below the project.
 */
const MAX_LEVELS_UP = 3;

/** Returns a text about what a folder without a manifest needs to run as a worker: a manifest and dependencies. */
export async function exampleFor(folder: string, files: readonly string[]): Promise<string> {
  const isPython = files.some(
    (file) => file.endsWith(".py") || file === "requirements.txt" || file === "pyproject.toml",
  );
  const name = workerNameProblem(basename(folder)) === undefined ? basename(folder) : "my-worker";
  const script = files.find((file) => (isPython ? file.endsWith(".py") : /\.[mc]?[jt]s$/.test(file)));
  const entry = script ?? (isPython ? "worker.py" : "src/worker.ts");
  const kind = isPython ? "python" : /\.[mc]?js$/.test(entry) ? "javascript" : "typescript";
  const lines = [
    `name: ${name}`,
    "runtime:",
    `  kind: ${kind}`,
    `  package_manager: ${isPython ? "pip" : "npm"}`,
    `  entry: ${entry}`,
  ];
  const needs = isPython ? await pythonNeeds(folder, files) : await nodeNeeds(folder, { files, kind });
  return ["A minimal example:", "", ...lines, "", needs].join("\n");
}

async function pythonNeeds(folder: string, files: readonly string[]): Promise<string> {
  const wheel = (await findSdk(folder, /^svc_runtime-.*\.whl$/)) ?? "PROJECT/sdk/svc_runtime-VERSION-py3-none-any.whl";
  const version = basename(wheel).split("-")[1];
  const has = files.includes("requirements.txt")
    ? "its requirements.txt must contain"
    : "it needs a requirements.txt with";
  return `${entryNote("worker.py", files, /\.py$/)}${capital(has)} the svc-runtime package, as the lines: --find-links ${dirname(wheel)} and svc-runtime==${version}`;
}

async function nodeNeeds(
  folder: string,
  { files, kind }: { readonly files: readonly string[]; readonly kind: string },
): Promise<string> {
  const sdk = (await findSdk(folder, /^svc-runtime-sdk-.*\.tgz$/)) ?? "PROJECT/sdk/svc-runtime-sdk-VERSION.tgz";
  const packages = kind === "typescript" ? "@svc-runtime/sdk and tsx" : "@svc-runtime/sdk";
  // Without a package.json in this folder, npm would install into a parent folder.
  const make = files.includes("package.json") ? "" : "npm init -y && ";
  const install = `${make}npm pkg set type=module && npm install ${sdk}${kind === "typescript" ? " tsx" : ""}`;
  return `${entryNote("src/worker.ts", files, /\.[mc]?[jt]s$|^src$/)}It needs a package.json with ${packages}; to create it, run in this folder: ${install}`;
}

function entryNote(entry: string, files: readonly string[], pattern: RegExp): string {
  return files.some((file) => pattern.test(file)) ? "" : `Write ${entry}. `;
}

/** Returns the relative path of an SDK package in the project. */
async function findSdk(folder: string, pattern: RegExp): Promise<string | undefined> {
  for (let level = 0; level <= MAX_LEVELS_UP; level++) {
    const sdkFolder = join(folder, ...Array.from({ length: level }, () => ".."), "sdk");
    // Missing or unreadable folders are skipped.
    const names = await readdir(sdkFolder).catch(() => []);
    const found = names
      .filter((name) => pattern.test(name))
      .sort()
      .at(-1);
    if (found !== undefined)
      return `${level === 0 ? "./" : ""}${relative(folder, join(sdkFolder, found)).split(sep).join("/")}`;
  }
  return undefined;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
