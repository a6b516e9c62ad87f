// Checks packages as users receive them, before they are published: names, versions, dependencies, contents, licence
// files and sizes. Plain Node without dependencies; scripts/release.mjs runs it.
import { foreignLines, isForeignPackage } from "./foreign-names.mjs";
import { fileLinks } from "./published-readme.mjs";
import { contentProblem } from "./stage-package.mjs";
import { hasNotice, NOTICES } from "./third-party-notices.mjs";

/** Scope of the npm packages that a user does not install by name. */
const SCOPE = "@svc-runtime/";
/** Scripts that npm runs when it installs a package. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare"];
const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/;

/**
 * Maximum sizes, about a quarter above the present ones: growth must be noticed. In bytes; `packed` is what a user
 * downloads.
 *
 * @type {Record<string, { packed: number, unpacked: number }>}
 */
export const SIZE_LIMITS = {
  "@svc-runtime/protocol": { packed: 55_000, unpacked: 195_000 },
  "@svc-runtime/sdk": { packed: 185_000, unpacked: 675_000 },
  "@svc-runtime/engine": { packed: 1_000_000, unpacked: 3_550_000 },
  "@svc-runtime/observability": { packed: 290_000, unpacked: 1_050_000 },
  "@svc-runtime/console": { packed: 2_750_000, unpacked: 4_700_000 },
  "svc-runtime": { packed: 3_450_000, unpacked: 8_000_000 },
  "svc-runtime (wheel)": { packed: 210_000, unpacked: 575_000 },
  "svc-runtime (sdist)": { packed: 165_000, unpacked: 605_000 },
};

/**
 * @typedef {object} Package
 * @property {"npm" | "wheel" | "sdist"} kind
 * @property {string} name Name on the registry.
 * @property {string} file Name of the archive's file.
 * @property {number} packedBytes
 * @property {Map<string, Buffer>} files Content by path; of a tarball without its top folder.
 * @property {readonly string[]} expected Paths that it must have, and no others.
 * @property {readonly string[]} bundled Names of the packages of others of which it contains copies.
 */

/**
 * Returns the problems of the packages, one message each, which begins with the package's file.
 *
 * @param {readonly Package[]} packages
 * @param {{ version: string, licence: string, limits?: typeof SIZE_LIMITS }} expected `version`: of all packages.
 *   `licence`: text of the licence.
 * @returns {string[]}
 */
export function packageProblems(packages, { version, licence, limits = SIZE_LIMITS }) {
  return packages.flatMap((one) =>
    [
      ...nameProblems(one, version),
      ...(one.kind === "npm" ? manifestProblems(one, version) : []),
      ...readmeProblems(one),
      ...licenceFileProblems(one, licence),
      ...contentProblems(one),
      ...sizeProblems(one, limits),
    ].map((problem) => `${one.file}: ${problem}`),
  );
}

/** Returns the name, version, licence and README that an archive declares. Members are undefined if it has none. */
export function declared({ kind, files }) {
  if (kind === "npm") {
    const { name, version, license } = manifestOf(files);
    return { name, version, licence: license, readme: textOf(files, "README.md") };
  }
  const [head = "", ...description] = (metadataOf(kind, files) ?? "").split(/\r?\n\r?\n/);
  const field = (title) => new RegExp(`^${title}: (.+)$`, "m").exec(head)?.[1].trim();
  return {
    name: field("Name"),
    version: field("Version"),
    licence: field("License-Expression"),
    readme: description.join("\n\n"),
  };
}

function nameProblems(one, version) {
  const found = declared(one);
  return [
    ...(found.name === one.name ? [] : [`its name is ${found.name}, expected ${one.name}`]),
    ...(found.version === version ? [] : [`its version is ${found.version}, expected ${version}, as all packages`]),
    ...(found.licence === "MIT" ? [] : [`its licence is ${found.licence}, expected MIT`]),
  ];
}

function manifestProblems({ files }, version) {
  const manifest = manifestOf(files);
  const problems = [];
  for (const script of INSTALL_SCRIPTS)
    if (manifest.scripts?.[script] !== undefined)
      problems.push(`it runs a script when it is installed: ${script}. Remove it from package.json`);
  if (manifest.private === true) problems.push("it is private, so npm would not publish it");
  if (manifest.devDependencies !== undefined) problems.push("it names packages that only its development needs");
  for (const field of ["dependencies", "peerDependencies", "optionalDependencies"])
    for (const [name, range] of Object.entries(manifest[field] ?? {})) {
      const problem = dependencyProblem(name, range, version);
      if (problem !== undefined) problems.push(`${field}: ${name}@${range} ${problem}`);
    }
  return problems;
}

function dependencyProblem(name, range, version) {
  if (isForeignPackage(name)) return "belongs to somebody else";
  if (name === "svc-runtime" || name.startsWith(SCOPE))
    return range === version ? undefined : `must be ${version}, the version that was tested with it`;
  return EXACT_VERSION.test(range) ? undefined : "is not an exact version";
}

function readmeProblems(one) {
  const { readme } = declared(one);
  if (readme === undefined || readme.trim() === "") return ["it has no README, which registries show"];
  const broken = fileLinks(readme).filter((target) => !one.files.has(target.split("#")[0]));
  return [
    ...foreignLines(readme).map((line) => `README.md names a package that belongs to somebody else, line ${line}`),
    ...broken.map((target) => `README.md links to ${target}, which the package lacks`),
  ];
}

function licenceFileProblems({ files, bundled }, licence) {
  const own = [...files.keys()].find((path) => /^(?:[^/]+\.dist-info\/licenses\/)?LICENSE$/.test(path));
  const problems = [];
  if (own === undefined) problems.push("it has no LICENSE");
  else if (files.get(own).toString("utf8") !== licence) problems.push(`${own} differs from the repository's LICENSE`);
  if (bundled.length === 0) return problems;
  const notices = textOf(files, NOTICES);
  if (notices === undefined) return [...problems, `it contains copies of other packages and has no ${NOTICES}`];
  const missing = bundled.filter((name) => !hasNotice(notices, name));
  if (missing.length > 0) problems.push(`${NOTICES} lacks ${missing.join(", ")}`);
  return problems;
}

function contentProblems({ files, expected }) {
  const problem = contentProblem([...files.keys()], expected);
  return problem === undefined ? [] : [`it ${problem}`];
}

function sizeProblems({ name, kind, packedBytes, files }, limits) {
  const limit = limits[limitKey({ name, kind })];
  if (limit === undefined) return [`it has no size limit in scripts/release-checks.mjs`];
  return Object.entries({ packed: packedBytes, unpacked: unpackedBytes(files) })
    .filter(([state, bytes]) => bytes > limit[state])
    .map(
      ([state, bytes]) =>
        `it has ${size(bytes)} ${state}, more than ${size(limit[state])}. See what made it grow; if it must, raise the limit in scripts/release-checks.mjs`,
    );
}

/** Returns the name of a package in SIZE_LIMITS. */
export function limitKey({ name, kind }) {
  return kind === "npm" ? name : `${name} (${kind})`;
}

/** Returns the size of all files of a package, in bytes. */
export function unpackedBytes(files) {
  return [...files.values()].reduce((sum, { length }) => sum + length, 0);
}

/** Returns a number of bytes as kB. */
export function size(bytes) {
  return `${Math.ceil(bytes / 1000)} kB`;
}

/** Returns true if programs may import something from an npm package. */
export function hasEntries(files) {
  return manifestOf(files).exports !== undefined;
}

function manifestOf(files) {
  return JSON.parse(textOf(files, "package.json") ?? "{}");
}

function metadataOf(kind, files) {
  const path =
    kind === "sdist" ? "PKG-INFO" : [...files.keys()].find((one) => /^[^/]+\.dist-info\/METADATA$/.test(one));
  return path === undefined ? undefined : textOf(files, path);
}

function textOf(files, path) {
  return files.get(path)?.toString("utf8");
}
