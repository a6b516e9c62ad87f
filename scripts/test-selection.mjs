// Selects the tests of `npm test -- PATTERN`, and the projects of the test runners that contain them. Plain Node
// without dependencies.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { root, StepFailure } from "./steps.mjs";

const FOLDERS = ["packages", "bench", "scripts", "e2e", "python/tests"];
const SKIPPED = new Set(["node_modules", "dist", "bundle", "assets", "__pycache__"]);
/** The first match counts. vitest.config.ts uses them, too. */
const PROJECTS = [
  ["pytest", /^python\/tests\/test_\w+\.py$/],
  ["faults", /^e2e\/src\/faults\/.*\.test\.ts$/],
  ["compat", /^e2e\/src\/compat\/.*\.test\.ts$/],
  ["console", /^e2e\/src\/console\/.*\.test\.ts$/],
  ["e2e", /^e2e\/src\/.*\.test\.ts$/],
  ["integration", /^(?:packages\/[^/]+\/src\/.*\.integration\.test\.tsx?|scripts\/[^/]+\.integration\.test\.mjs)$/],
  ["web", /^packages\/console\/src\/web\/.*\.test\.tsx?$/],
  ["unit", /^(?:(?:packages\/[^/]+|bench)\/src\/.*\.test\.tsx?|scripts\/[^/]+\.test\.mjs)$/],
];
/** Projects of tests without processes, disk or real time. */
export const UNIT = ["unit", "web"];
/** Projects that `npm test` does not run. */
const LONG = ["faults"];
/** Sources that are compiled into the folder `dist` beside `src`. The page's are not: Vite bundles them. */
const COMPILED = /^((?:packages\/[^/]+|bench|e2e)\/)src(\/(?!web\/).*)\.ts$/;

/**
 * Returns the name of the project that runs a test file, given by its path from the repository's root with `/`.
 * Undefined for other files.
 */
export function projectOf(file) {
  return PROJECTS.find(([, pattern]) => pattern.test(file))?.[0];
}

/**
 * Resolves with the projects to run, the files to run (empty: all files of these projects) and the part of a test's
 * name that selects tests. Rejects with a StepFailure if a pattern matches files that `npm test` does not run.
 *
 * @param {{ patterns: readonly string[], name?: string, unitOnly?: boolean }} options
 * @returns {Promise<{ projects: string[], files: string[], name: string | undefined }>}
 */
export async function selectTests({ patterns, name, unitOnly = false }) {
  const runs = (project) => (unitOnly ? UNIT.includes(project) : !LONG.includes(project));
  const files = await testFiles();
  const found = files.filter((file) => patterns.some((pattern) => file.includes(normalized(pattern))));
  const selected = found.filter((file) => runs(projectOf(file)));
  if (found.length > 0 && selected.length === 0) {
    throw new StepFailure(`\`npm test${unitOnly ? " -- --unit" : ""}\` does not run ${found.join(", ")}`, {
      fix: unitOnly ? "omit --unit." : "run them with `npm run faults`.",
    });
  }
  const isByName = patterns.length > 0 && selected.length === 0;
  const projects = new Set((selected.length > 0 ? selected : files).map(projectOf).filter(runs));
  return { projects: [...projects], files: selected, name: isByName ? patterns.join(" ") : name };
}

function normalized(pattern) {
  return pattern.replaceAll("\\", "/").replace(/^\.\//, "");
}

/** Resolves with the paths of all test files from the repository's root, with `/`. */
export async function testFiles() {
  const found = await Promise.all(FOLDERS.map(filesBelow));
  return found.flat().filter((file) => projectOf(file) !== undefined);
}

/** Returns the path of the file that runs for a test file: the compiler's output, or the file itself. */
export function builtFile(file) {
  return file.replace(COMPILED, "$1dist$2.js");
}

/** Returns the source for a file of `builtFile`. */
export function sourceFile(file) {
  return file.replace(/^((?:packages\/[^/]+|bench|e2e)\/)dist(\/.*)\.js$/, "$1src$2.ts");
}

async function filesBelow(folder) {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map((entry) => {
      const path = `${folder}/${entry.name}`;
      if (!entry.isDirectory()) return [path];
      return SKIPPED.has(entry.name) ? [] : filesBelow(path);
    }),
  );
  return found.flat();
}
