// Checks the lock files: npm must be able to verify every package that it downloads, on every platform and from any
// registry. Needs neither the network nor installed packages. `node scripts/check-lock.mjs` runs it alone.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDownloaded, resolveDependency, runtimeDependencies, workspacePaths } from "./lock-file.mjs";
import { root } from "./steps.mjs";

const DEPENDENCY_FIELDS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
/** Folders without lock files of the repository. */
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", ".git", ".cache", ".venv", ".svc", "packed", "quickstart"]);
const REFRESH = "Delete the entry, then run `npm install --package-lock-only`.";

/**
 * Returns the problems of a lock file, one line each.
 *
 * @param {{ lockfileVersion: number, packages: import("./lock-file.mjs").LockEntries }} lock
 * @param {(folder: string) => Record<string, any> | undefined} readManifest Reads the package.json of a workspace; ""
 *   is the repository.
 * @returns {string[]}
 */
export function lockProblems(lock, readManifest) {
  const entries = lock.packages ?? {};
  const problems = [];
  if (lock.lockfileVersion !== 3)
    problems.push(
      `lockfileVersion is ${lock.lockfileVersion}, expected 3. Run \`npm install --package-lock-only\` with npm 9 or later.`,
    );
  for (const [path, entry] of Object.entries(entries)) {
    if (isDownloaded(path, entry)) problems.push(...entryProblems(path, entry));
    for (const { name, isOptional } of missingDependencies(entries, path, entry)) {
      problems.push(
        isOptional
          ? `${path || "the repository"}: optional dependency ${name} has no entry, so \`npm ci\` fails on its platform. Use a release of which the registry has the packages for every platform.`
          : `${path || "the repository"}: dependency ${name} has no entry. Run \`npm install --package-lock-only\`.`,
      );
    }
  }
  for (const { folder, fields } of manifestDifferences(entries, readManifest)) {
    problems.push(
      `${join(folder, "package.json")}: ${fields.join(", ")} and the lock file differ. Run \`npm install --package-lock-only\`.`,
    );
  }
  return problems;
}

/**
 * Returns the folders whose package.json asks for other packages than it did when the lock file was written.
 * @param {import("./lock-file.mjs").LockEntries} entries
 * @param {(folder: string) => Record<string, any> | undefined} readManifest
 * @returns {{ folder: string, fields: string[] }[]}
 */
export function manifestDifferences(entries, readManifest) {
  return ["", ...workspacePaths(entries)]
    .map((folder) => ({ folder, fields: differingFields(entries[folder] ?? {}, readManifest(folder)) }))
    .filter(({ fields }) => fields.length > 0);
}

function entryProblems(path, entry) {
  const problems = [];
  // A bundled package has none: it is part of its parent's archive, whose integrity covers it.
  if (entry.inBundle !== true) {
    if (entry.integrity === undefined) problems.push(`${path}@${entry.version}: no integrity. ${REFRESH}`);
    else if (!entry.integrity.startsWith("sha512-"))
      problems.push(
        `${path}@${entry.version}: weak integrity (${entry.integrity.split("-")[0]}), expected sha512. ${REFRESH}`,
      );
  }
  if (entry.resolved !== undefined) {
    problems.push(`${path}@${entry.version}: download address ${entry.resolved}. ${REFRESH}`);
  }
  return problems;
}

/** Returns the dependencies of an entry that the lock file lacks. */
function missingDependencies(entries, path, entry) {
  if (entry.link === true) return [];
  return runtimeDependencies(entry).filter(({ name }) => resolveDependency(entries, path, name) === undefined);
}

function differingFields(entry, manifest) {
  if (manifest === undefined) return DEPENDENCY_FIELDS;
  return DEPENDENCY_FIELDS.filter((field) => sorted(entry[field]) !== sorted(manifest[field]));
}

function sorted(dependencies = {}) {
  return JSON.stringify(Object.entries(dependencies).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the lock files of the repository. */
function lockFiles(folder = root) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : lockFiles(join(folder, entry.name));
    return entry.name === "package-lock.json" ? [join(folder, entry.name)] : [];
  });
}

function main() {
  let isWrong = false;
  for (const file of lockFiles()) {
    const readManifest = (folder) => {
      try {
        return JSON.parse(readFileSync(join(dirname(file), folder, "package.json"), "utf8"));
      } catch (error) {
        if (error.code === "ENOENT") return undefined;
        throw error;
      }
    };
    const lock = JSON.parse(readFileSync(file, "utf8"));
    const problems = lockProblems(lock, readManifest);
    isWrong ||= problems.length > 0;
    const shown = file.slice(root.length);
    for (const problem of problems) console.error(`${shown}: ${problem}`);
    const downloaded = Object.entries(lock.packages ?? {}).filter(([path, entry]) => isDownloaded(path, entry)).length;
    if (problems.length === 0) console.error(`${shown}: ${downloaded} packages, each with integrity`);
  }
  return isWrong ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = main();
