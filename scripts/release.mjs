// `npm run release -- --dry-run` builds and packs everything that svc publishes, checks each package and lists what would
// be published. Without the flag it then publishes, from a clean tree, on a version tag, and with credentials. Plain
// Node without dependencies: it runs before `npm install`.
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { archiveFiles } from "./archive-files.mjs";
import { git } from "./git.mjs";
import { BUILD_STEPS, buildPackages, PACKAGES, packPackages } from "./pack-packages.mjs";
import { distTag, npmPublishArgs, publish, publishProblems, twineArgs, unpublishedReadmes } from "./publish.mjs";
import { hasEntries, packageProblems } from "./release-checks.mjs";
import { releaseLines } from "./release-list.mjs";
import { buildPythonDistributions, pythonDistributionFiles } from "./release-python.mjs";
import { installReleaseTools, npmToolProblems, pythonToolProblems, testReleaseTools } from "./release-tools.mjs";
import { interruptSignal, npm, reportFailure, root, runCommand, StepFailure, stepRunner } from "./steps.mjs";

const USAGE = `Usage: npm run release -- --dry-run
       npm run release

Builds and packs the npm packages and the Python package into packed/release, and checks them. Then publishes them.

  --dry-run  list what would be published instead of publishing it
  --help     print this`;
const folder = join(root, "packed/release");
/** Packages that only re-export others. The bundler leaves nothing of them in the page. */
const RE_EXPORTS = ["radix-ui"];
/** What the registries show of the packages. */
const READMES = [...PACKAGES.map((name) => `packages/${name}/README.md`), "python/README.md"];

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const signal = interruptSignal();
  try {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const problems = publishProblems(await publishFacts(version));
    if (!options["dry-run"] && problems.length > 0)
      throw new StepFailure(`Version ${version} cannot be published:\n${bullets(problems)}`, {
        fix: "see CONTRIBUTING.md, Releases. `npm run release -- --dry-run` builds and checks without publishing.",
      });
    const { step } = stepRunner({ total: BUILD_STEPS + (options["dry-run"] ? 4 : 5), signal });
    await buildPackages(step);
    const python = await step("Installing the release tools", installReleaseTools);
    await step("Testing the release tools on broken packages", () => testReleaseTools(python, signal));
    const packages = await step("Packing the packages", ({ note }) => pack(python, { version, signal, note }));
    await step("Checking the packages", () => check(packages, { version, python, signal }));
    const tag = distTag(version);
    for (const line of releaseLines(packages, { version, tag, commands: commandsOf(packages, version) }))
      console.log(line);
    if (options["dry-run"]) {
      if (problems.length > 0) console.log(`\nBefore this can be published:\n${bullets(problems)}`);
      console.log("\nNothing was published (--dry-run).");
      return 0;
    }
    await step("Publishing", ({ note }) => publishAll(packages, { version, python, signal, note }));
    return 0;
  } catch (error) {
    return reportFailure(error);
  }
}

function readOptions(args) {
  try {
    const { values } = parseArgs({
      args,
      options: { "dry-run": { type: "boolean", default: false }, help: { type: "boolean", short: "h" } },
    });
    // Each npm that this starts would inherit the flag and pack nothing.
    if (process.env.npm_config_dry_run === "true")
      throw new Error("npm took --dry-run for its own. Write -- before it: npm run release -- --dry-run");
    return values;
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return undefined;
  }
}

async function publishFacts(version) {
  const inClone = (args) =>
    git(root, args).catch((cause) => {
      throw new StepFailure(`git failed: ${cause.message}`, { fix: "run this in a clone of the repository.", cause });
    });
  const [status, tags, manifest, ...texts] = await Promise.all([
    inClone(["status", "--porcelain"]),
    inClone(["tag", "--points-at", "HEAD"]),
    ...["package.json", ...READMES].map((file) => readFile(join(root, file), "utf8")),
  ]);
  return {
    version,
    status,
    tags: tags.split("\n"),
    repository: JSON.parse(manifest).repository?.url,
    unpublishedReadmes: unpublishedReadmes(Object.fromEntries(READMES.map((file, at) => [file, texts[at]]))),
    env: process.env,
  };
}

/** Packs into an empty folder. Resolves with the packages as `packageProblems` takes them. */
async function pack(python, { version, signal, note }) {
  await rm(folder, { recursive: true, force: true });
  const { npmPackages, pythonFiles } = await packPackages(folder, {
    signal,
    packPython: (staging) => buildPythonDistributions(python, staging, signal),
  });
  const packages = [
    ...npmPackages.map((one) => ({ kind: "npm", ...one })),
    ...(await Promise.all(pythonFiles.map((path) => pythonDistribution(path, version)))),
  ];
  return await Promise.all(
    packages.map(async (one) => {
      const file = basename(one.path);
      note(relative(root, one.path));
      const data = await readFile(one.path);
      const bundled = one.kind === "npm" ? await copiedPackages(one.name) : [];
      return { ...one, file, data, bundled, packedBytes: data.length, files: archiveFiles(file, data) };
    }),
  );
}

/** Resolves with the names of packages of others of which a package must contain copies. */
async function copiedPackages(name) {
  if (name === "@svc-runtime/console") return await pageImports();
  if (name !== "svc-runtime") return [];
  const { dependencies } = JSON.parse(await readFile(join(root, "packages/cli/package.json"), "utf8"));
  return Object.keys(dependencies).filter((dependency) => !dependency.startsWith("@svc-runtime/"));
}

/** Resolves with the names of the packages of others that the sources of the console's page import. */
async function pageImports() {
  // Needs installed packages.
  const { importedPackages } = await import("./check-licences.mjs");
  const console = join(root, "packages/console");
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(console, "package.json"), "utf8"));
  const names = Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !name.startsWith("@svc-runtime/"),
  );
  return importedPackages(join(console, "src/web"), names).filter((name) => !RE_EXPORTS.includes(name));
}

async function pythonDistribution(path, version) {
  const kind = path.endsWith(".whl") ? "wheel" : "sdist";
  return { kind, name: "svc-runtime", path, expected: await pythonDistributionFiles(kind, version) };
}

/** Rejects with StepFailure that names all problems. */
async function check(packages, { version, python, signal }) {
  const licence = await readFile(join(root, "LICENSE"), "utf8");
  const problems = packageProblems(packages, { version, licence });
  for (const { kind, file, path, files } of packages) {
    const reports =
      kind === "npm"
        ? await npmToolProblems(path, { hasEntries: hasEntries(files), signal })
        : await pythonToolProblems(path, python, signal);
    problems.push(...reports.map((report) => `${file}: ${report}`));
  }
  if (problems.length > 0) throw new StepFailure(`the packages have problems:\n${bullets(problems)}`);
}

function commandsOf(packages, version) {
  const pathsOf = (isWanted) => packages.filter(isWanted).map(({ path }) => relative(root, path));
  return [
    ...pathsOf(({ kind }) => kind === "npm").map((path) => `npm ${npmPublishArgs(path, version).join(" ")}`),
    `python ${twineArgs(pathsOf(({ kind }) => kind !== "npm")).join(" ")}`,
  ];
}

async function publishAll(packages, { version, python, signal, note }) {
  // npm reads the token from a file only.
  const config = join(folder, "npmrc");
  await writeFile(config, `//registry.npmjs.org/:_authToken=\${NODE_AUTH_TOKEN}\n`);
  const options = { signal, cwd: folder };
  await publish(
    {
      version,
      npmPackages: packages.filter(({ kind }) => kind === "npm"),
      pythonFiles: packages.filter(({ kind }) => kind !== "npm").map(({ path }) => path),
    },
    {
      note,
      npm: (args) => npm([...args, "--userconfig", config], options),
      python: (args) => runCommand(python, args, { ...options, env: { TWINE_USERNAME: "__token__", ...process.env } }),
    },
  );
}

function bullets(lines) {
  return lines.map((line) => `  - ${line}`).join("\n");
}
