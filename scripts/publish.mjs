// Publishes checked packages on npm and PyPI. scripts/release.mjs runs it. Plain Node without dependencies.
import { createHash } from "node:crypto";
import { StepFailure } from "./steps.mjs";

// Named in each command: a machine may be configured to use a mirror.
const NPM_REGISTRY = "https://registry.npmjs.org/";
const PYPI_UPLOAD = "https://upload.pypi.org/legacy/";

/**
 * Returns what must change before the packages can be published, one sentence each.
 *
 * @param {{ version: string, status: string, tags: readonly string[], repository: string | undefined,
 *   unpublishedReadmes: readonly string[], env: NodeJS.ProcessEnv }} facts `status`: output of `git status --porcelain`.
 *   `tags`: of the current commit. `repository`: URL in the packages. `unpublishedReadmes`: see the function of this name.
 * @returns {string[]}
 */
export function publishProblems({ version, status, tags, repository, unpublishedReadmes, env }) {
  const problems = [];
  const tag = `v${version}`;
  if (status !== "") {
    const files = status.split("\n").map((line) => line.slice(3));
    problems.push(
      `The working tree has changes: ${files.slice(0, 5).join(", ")}${files.length > 5 ? ", …" : ""}. Commit or remove them.`,
    );
  }
  if (!tags.includes(tag))
    problems.push(`The commit has no tag ${tag}. Tag the commit that passed all tests: git tag --sign ${tag}`);
  if (repository === undefined)
    problems.push("package.json names no `repository`. npm compares it with the place where the packages are built.");
  for (const file of unpublishedReadmes)
    problems.push(`${file} says that the package is not on its registry. Describe how users install it from there.`);
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined && env.SIGSTORE_ID_TOKEN === undefined)
    problems.push(
      "npm cannot attest here where the packages are built (--provenance). Run this in the CI of GitHub, with the permission `id-token: write`, or of GitLab, with the token SIGSTORE_ID_TOKEN.",
    );
  if (!env.NODE_AUTH_TOKEN)
    problems.push("NODE_AUTH_TOKEN is not set. It is a granular access token of npm that may publish the packages.");
  if (!env.TWINE_PASSWORD)
    problems.push("TWINE_PASSWORD is not set. It is an API token of PyPI for the project svc-runtime.");
  return problems;
}

/**
 * Returns the files among the READMEs of packages that say that their package is not on a registry.
 *
 * @param {Readonly<Record<string, string>>} texts By path from the repository's root.
 */
export function unpublishedReadmes(texts) {
  return Object.keys(texts).filter((file) => /\bnot on (?:npm|PyPI)\b/.test(texts[file]));
}

/** Returns the dist-tag of a version: users get `latest` unless they ask for another. */
export function distTag(version) {
  return version.includes("-") ? "next" : "latest";
}

/** Returns the arguments with which npm publishes a tarball. */
export function npmPublishArgs(file, version) {
  return ["publish", file, "--access", "public", "--provenance", "--tag", distTag(version), "--registry", NPM_REGISTRY];
}

/** Returns the arguments with which Python uploads a wheel and an sdist. */
export function twineArgs(files) {
  return ["-m", "twine", "upload", "--non-interactive", "--skip-existing", "--repository-url", PYPI_UPLOAD, ...files];
}

/**
 * Publishes the packages: those of npm in the given order, in which each comes after those that it needs, then those of
 * PyPI. Skips what is published already, so that a run that failed can be repeated. Rejects with StepFailure before it
 * publishes anything if a registry has another content under this name and version.
 *
 * @param {{ version: string, npmPackages: readonly { name: string, path: string, data: Buffer }[], pythonFiles: readonly
 *   string[] }} packages
 * @param {{ npm: (args: readonly string[]) => Promise<{ stdout: string }>, python: (args: readonly string[]) =>
 *   Promise<unknown>, note: (line: string) => void }} run
 */
export async function publish({ version, npmPackages, pythonFiles }, { npm, python, note }) {
  const missing = [];
  for (const one of npmPackages) {
    const published = await publishedIntegrity(npm, `${one.name}@${version}`);
    if (published === undefined) missing.push(one);
    else if (published !== integrityOf(one.data))
      throw new StepFailure(`${one.name}@${version} is published with another content`, {
        fix: "raise the version in all packages; a published version cannot be replaced.",
      });
    else note(`${one.name}@${version} is published already`);
  }
  for (const { name, path } of missing) {
    await npm(npmPublishArgs(path, version));
    note(`published ${name}@${version}`);
  }
  await python(twineArgs(pythonFiles));
}

/** Resolves with the integrity of a published package; undefined if there is none. */
async function publishedIntegrity(npm, id) {
  try {
    const { stdout } = await npm(["view", id, "dist.integrity", "--json", "--registry", NPM_REGISTRY]);
    return stdout.trim() === "" ? undefined : JSON.parse(stdout);
  } catch (error) {
    if (error instanceof StepFailure && error.output.some((line) => line.includes("E404"))) return undefined;
    throw error;
  }
}

function integrityOf(data) {
  return `sha512-${createHash("sha512").update(data).digest("base64")}`;
}
