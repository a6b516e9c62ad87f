// Writes the licences of the packages of which the console's page or the CLI's bundle contains copies. Plain Node without dependencies.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { root, StepFailure } from "./steps.mjs";

/** Name of the file in the package. */
export const NOTICES = "THIRD-PARTY-NOTICES.md";
const LICENCE_FILE = /^(?:licen[cs]e|copying)/i;
/** List of the packages that the build of the page writes, without those that only style sheets import. */
const LIST = "dist/web/packages.json";
/** What the bundler of the CLI writes about the bundle. */
const BUNDLE = "bundle/contents.json";

/**
 * Resolves with the text of THIRD-PARTY-NOTICES.md for a package with a page or a bundle; undefined for others. Rejects
 * with StepFailure if a licence is unknown or the page was not built.
 *
 * @param {string} folder
 */
export async function thirdPartyNotices(folder) {
  const folders = existsSync(join(folder, "vite.config.ts")) ? await pagePackages(folder) : await bundled(folder);
  if (folders === undefined) return undefined;
  return noticesOf(await Promise.all(folders.map((path) => licenceOf(join(root, path)))));
}

/** Resolves with the folders of the packages that the bundle of the CLI contains. */
async function bundled(folder) {
  const contents = join(folder, BUNDLE);
  return existsSync(contents) ? JSON.parse(await readFile(contents, "utf8")).packages : undefined;
}

/** Resolves with the folders of the packages that the page contains. */
async function pagePackages(folder) {
  const list = await readFile(join(folder, LIST), "utf8").catch((cause) => {
    throw new StepFailure(`${join(folder, LIST)} does not exist`, {
      fix: "run `node scripts/pack.mjs`, which builds what it packs.",
      cause,
    });
  });
  const styled = (await styleImports(join(folder, "src/web"))).map((name) => join("node_modules", name));
  return [...new Set([...JSON.parse(list), ...styled])];
}

/**
 * Returns the text for these packages, in alphabetical order.
 *
 * @param {readonly { name: string, version: string, licence: string, text: string }[]} packages
 */
export function noticesOf(packages) {
  const sections = packages
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, version, licence, text }) => `## ${name} ${version} (${licence})\n\n${text.trim()}\n`);
  const head = "# Third-party notices\n\nThis package contains copies of the following packages.\n";
  return [head, ...sections].join("\n");
}

/** Returns true if the notices have the licence of a package. */
export function hasNotice(notices, name) {
  return notices.includes(`\n## ${name} `);
}

/**
 * Resolves with the licence of an installed package and its text. For a package under MIT without a licence file,
 * that is the text of the MIT licence with the author that its package.json names.
 *
 * @param {string} folder
 */
export async function licenceOf(folder) {
  const { name, version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => LICENCE_FILE.test(entry));
  if (license !== undefined && file !== undefined)
    return { name, version, licence: license, text: await readFile(join(folder, file), "utf8") };
  const holder = typeof author === "string" ? author : author?.name;
  if (license !== "MIT" || holder === undefined)
    throw new StepFailure(`the text of the licence of ${name}@${version} is unknown (${license ?? "no licence"})`, {
      fix: "use another package or release.",
    });
  const own = await readFile(join(root, "LICENSE"), "utf8");
  return { name, version, licence: license, text: own.replace(/^Copyright .*$/m, `Copyright (c) ${holder}`) };
}

/** Resolves with the names of the packages that style sheets import. */
async function styleImports(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sheets = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".css"));
  const texts = await Promise.all(sheets.map(({ parentPath, name }) => readFile(join(parentPath, name), "utf8")));
  return texts.flatMap((text) =>
    [...text.matchAll(/@import\s+["']((?:@[\w.-]+\/)?\w[\w.-]*)/g)].map(([, name]) => name),
  );
}
