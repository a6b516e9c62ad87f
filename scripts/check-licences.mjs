// Checks the licences of the packages that we ship and of the tools that we build and test with. Reads the installed
// packages, the lock file and the Python environment, without the network. `node scripts/check-licences.mjs` runs it
// alone.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import parseExpression from "spdx-expression-parse";
import { chainTo, isDownloaded, packageName, resolveDependency, runtimeClosure, workspacePaths } from "./lock-file.mjs";
import { interruptSignal, reportFailure, root, runCommand } from "./steps.mjs";

/** Licences of what we ship. MIT-0 and 0BSD are MIT and ISC without the duty to reproduce the licence. */
const SHIPPED = ["MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD"];
/** Licences of fonts. */
const FONTS = ["OFL-1.1"];
const FONT_PACKAGES = /^@fontsource(-variable)?\//;
/**
 * Further licences of tools, which no user receives: weak copyleft (MPL), a permissive licence (BlueOak), and data
 * (CC).
 */
const TOOLS = ["MPL-2.0", "BlueOak-1.0.0", "CC0-1.0", "CC-BY-3.0"];

/**
 * Packages allowed by name and version, with the licence that they declare. The check fails for an entry without such a
 * package.
 *
 * @type {Record<string, { licence: string, reason: string }>}
 */
export const EXCEPTIONS = {
  "tweetnacl@1.0.3": {
    licence: "Unlicense",
    reason: "Public domain dedication. The client of NATS signs with it when an engine uses an NKey.",
  },
  "isbot@5.2.3": {
    licence: "Unlicense",
    reason:
      "Public domain dedication. @tanstack/react-router uses it to render on a server, which the console does not do.",
  },
};

/**
 * @typedef {{ ecosystem: "npm" | "PyPI", name: string, version: string, licence: string | undefined, isShipped:
 *   boolean, chain: string[] }} Package
 */

/**
 * Returns the allowed licences of a package.
 * @param {Pick<Package, "name" | "isShipped">} one
 */
function allowedLicences({ name, isShipped }) {
  return [...SHIPPED, ...(FONT_PACKAGES.test(name) ? FONTS : []), ...(isShipped ? [] : TOOLS)];
}

/**
 * Returns true if the allowed licences satisfy an SPDX expression: one side of OR, both sides of AND. An exception
 * (WITH) only grants further rights, so it is ignored. Returns undefined if the text is not an SPDX expression.
 *
 * @param {string} expression
 * @param {readonly string[]} allowed
 */
export function isAllowed(expression, allowed) {
  let parsed;
  try {
    parsed = parseExpression(expression);
  } catch {
    return undefined;
  }
  const meets = (node) => {
    if (node.conjunction === "or") return meets(node.left) || meets(node.right);
    if (node.conjunction === "and") return meets(node.left) && meets(node.right);
    return allowed.includes(node.license);
  };
  return meets(parsed);
}

/**
 * Returns the problems, one message per package.
 *
 * @param {readonly Package[]} packages
 * @param {typeof EXCEPTIONS} [exceptions]
 */
export function licenceProblems(packages, exceptions = EXCEPTIONS) {
  const unused = new Set(Object.keys(exceptions));
  const problems = [];
  for (const one of packages) {
    const id = `${one.name}@${one.version}`;
    const exception = exceptions[id];
    if (exception !== undefined && exception.licence === one.licence) {
      unused.delete(id);
      continue;
    }
    const verdict = one.licence === undefined ? undefined : isAllowed(one.licence, allowedLicences(one));
    if (verdict !== true) problems.push(describe(one, verdict));
  }
  for (const id of unused)
    problems.push(
      `exception for ${id}: no installed package needs it\n  what to do: remove it from EXCEPTIONS in scripts/check-licences.mjs`,
    );
  return problems;
}

function describe(one, verdict) {
  const { ecosystem, name, version, licence, isShipped, chain } = one;
  const found =
    licence === undefined
      ? "no licence declared"
      : verdict === undefined
        ? `unknown licence "${licence}"`
        : `licence not allowed: ${licence}`;
  return [
    `${name}@${version} (${ecosystem}): ${found}`,
    `  needed by: ${chain.join(" > ")} (${isShipped ? "shipped" : "used for building and testing only"})`,
    `  allowed: ${allowedLicences(one).join(", ")}`,
    "  what to do: use another package or release; or review the licence in the package and add it to EXCEPTIONS in scripts/check-licences.mjs, with the reason",
  ].join("\n");
}

/**
 * Returns the packages of a lock file. A package is shipped if a workspace needs it at run time, or if the console's
 * page imports it, as the build copies it into the page. All others are tools.
 *
 * @param {import("./lock-file.mjs").LockEntries} entries
 * @param {{ pageImports: readonly string[], page: string, readManifest: (path: string) => Record<string, any> |
 *   undefined }} options
 * @returns {Package[]}
 */
export function npmPackages(entries, { page, pageImports, readManifest }) {
  const workspaces = workspacePaths(entries);
  const pagePackages = pageImports
    .map((name) => resolveDependency(entries, page, name))
    .filter((path) => path !== undefined);
  const shipped = runtimeClosure(entries, [...workspaces, ...pagePackages]);
  const needed = runtimeClosure(entries, [...workspaces, ...developmentRoots(entries)]);
  return Object.entries(entries)
    .filter(([path, entry]) => isDownloaded(path, entry))
    .map(([path, entry]) => {
      const isShipped = shipped.has(path);
      const chain = chainTo(isShipped ? shipped : needed, path);
      // A package that the page imports is a root of the closure. Its dependant is the page.
      const owner = pagePackages.includes(chain[0]) ? [page] : [];
      return {
        ecosystem: "npm",
        name: packageName(path, entry),
        version: entry.version,
        licence: declaredLicence(readManifest(path)) ?? declaredLicence(entry),
        isShipped,
        chain: [...owner, ...chain].map((at) => nameAndVersion(at, entries[at])),
      };
    });
}

function developmentRoots(entries) {
  return ["", ...workspacePaths(entries)].flatMap((from) =>
    Object.keys(entries[from]?.devDependencies ?? {})
      .map((name) => resolveDependency(entries, from, name))
      .filter((path) => path !== undefined),
  );
}

function nameAndVersion(path, entry) {
  const name = packageName(path, entry);
  return path.includes("node_modules/") ? `${name}@${entry.version}` : name;
}

/** Returns the licence that a package.json declares, or undefined. Reads the deprecated forms of the field, too. */
export function declaredLicence(manifest) {
  const { license, licenses } = manifest ?? {};
  const one = (value) => (typeof value === "string" ? value : value?.type);
  if (license !== undefined) return one(license) || undefined;
  if (!Array.isArray(licenses) || licenses.length === 0) return undefined;
  return licenses.length === 1 ? one(licenses[0]) : `(${licenses.map(one).join(" OR ")})`;
}

/** Returns the packages in `names` that the sources in a folder import. Ignores tests. */
export function importedPackages(folder, names) {
  const imported = new Set();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(tsx?|css)$/.test(entry.name) || /\.test(-support)?\.tsx?$/.test(entry.name)) continue;
    for (const name of importsOf(readFileSync(join(entry.parentPath, entry.name), "utf8"))) imported.add(name);
  }
  return names.filter((name) => imported.has(name));
}

/**
 * Returns the names of the packages that a TypeScript or CSS source imports. May return further words, since it does
 * not parse the source.
 */
export function importsOf(source) {
  return [...source.matchAll(/\b(?:from|import|plugin)\s*\(?\s*["']((?:@[\w.-]+\/)?\w[\w.-]*)[^"'\n]*["']/g)].map(
    ([, name]) => name,
  );
}

/** Prints the packages that the Python SDK needs at run time, as JSON, without extras such as the tools in `dev`. */
const LIST_PYTHON_PACKAGES = `
import json, importlib.metadata as metadata
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
found, queue = {}, [("svc-runtime", [])]
while queue:
    name, chain = queue.pop(0)
    if name in found:
        continue
    distribution = metadata.distribution(name)
    facts = distribution.metadata
    chain = [*chain, name if name == "svc-runtime" else f"{name}@{distribution.version}"]
    found[name] = {"name": name, "version": distribution.version, "chain": chain,
                   "licence": facts.get("License-Expression") or facts.get("License")}
    for line in distribution.requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            queue.append((canonicalize_name(requirement.name), chain))
del found["svc-runtime"]
print(json.dumps(list(found.values())))
`;

/** @returns {Promise<Package[]>} */
async function pythonPackages(signal) {
  const { stdout } = await runCommand(join(root, ".venv/bin/python"), ["-c", LIST_PYTHON_PACKAGES], {
    signal,
    timeoutMs: 60_000,
    fix: "the Python environment is missing or incomplete: `npm run check` installs it.",
  });
  return JSON.parse(stdout).map((one) => ({
    ...one,
    ecosystem: "PyPI",
    isShipped: true,
    licence: one.licence ?? undefined,
  }));
}

async function main() {
  try {
    const readManifest = (path) => {
      try {
        return JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      } catch (error) {
        // Packages of other platforms are not installed; the lock file has their licence.
        if (error.code === "ENOENT") return undefined;
        throw error;
      }
    };
    const entriesIn = (folder) => JSON.parse(readFileSync(join(root, folder, "package-lock.json"), "utf8")).packages;
    const entries = entriesIn("");
    const page = "packages/console";
    const { dependencies, devDependencies } = readManifest(page);
    const pageImports = importedPackages(
      join(root, page, "src/web"),
      Object.keys({ ...dependencies, ...devDependencies }),
    );
    const packages = [
      ...npmPackages(entries, { page, pageImports, readManifest }),
      // Installed by a release only; the lock file has their licences.
      ...npmPackages(entriesIn("scripts/release-tools"), { page: "", pageImports: [], readManifest: () => undefined }),
      ...(await pythonPackages(interruptSignal())),
    ];
    const problems = licenceProblems(packages);
    for (const problem of problems) console.error(problem);
    const shipped = packages.filter(({ isShipped }) => isShipped).length;
    console.error(
      `${packages.length} packages (${shipped} shipped): ${problems.length === 0 ? "all licences are allowed" : `${problems.length} problems`}`,
    );
    return problems.length === 0 ? 0 : 1;
  } catch (error) {
    return reportFailure(error);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main();
