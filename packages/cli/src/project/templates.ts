import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const TEMPLATE_FILE = "template.json";

/** Folder of this package. The templates and assets are in it, beside `src` and `dist`. */
const packageDir = fileURLToPath(new URL("../..", import.meta.url));

export interface TemplateSource {
  /** Folder with one folder for each template. */
  readonly templatesDir: string;
  /** Folder with the built SDK packages. They are copied to `sdk/` in a project. */
  readonly assetsDir: string;
}

/** The templates of this package. */
export const bundledTemplates: TemplateSource = {
  templatesDir: join(packageDir, "templates"),
  assetsDir: join(packageDir, "assets"),
};

/** Contents of a template's `template.json`. The file is not copied. */
export interface Template {
  readonly name: string;
  readonly description: string;
  /** Commands to run next, in the project's folder. */
  readonly nextSteps: readonly string[];
}

/** One file of a project: its source, and its target relative to the project. */
export interface TemplateFile {
  readonly from: string;
  readonly to: string;
}

/** Order of the templates. Templates for new users come first. */
const ORDER: readonly string[] = ["quickstart", "typescript", "python", "blank"];

/** Returns all templates. */
export async function listTemplates(source: TemplateSource): Promise<readonly Template[]> {
  const entries = await readdir(source.templatesDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const rank = (name: string): number => ORDER.indexOf(name) + 1 || ORDER.length + 1;
  return Promise.all(
    names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((name) => readTemplate(source, name)),
  );
}

async function readTemplate(source: TemplateSource, name: string): Promise<Template> {
  const text = await readFile(join(source.templatesDir, name, TEMPLATE_FILE), "utf8");
  const about = JSON.parse(text) as { readonly description: string; readonly next_steps: readonly string[] };
  return { name, description: about.description, nextSteps: about.next_steps };
}

/**
 * Returns the files of a template. A file named `gitignore` becomes `.gitignore`, because npm omits files named
 * `.gitignore` from packages.
 */
export async function templateFiles(source: TemplateSource, template: string): Promise<readonly TemplateFile[]> {
  const root = join(source.templatesDir, template);
  const files = await filesBelow(root);
  return files
    .filter((from) => from !== join(root, TEMPLATE_FILE))
    .map((from) => {
      const parts = relative(root, from).split(sep);
      return { from, to: parts.map((part) => (part === "gitignore" ? ".gitignore" : part)).join("/") };
    });
}

/** Returns the SDK packages for the `sdk/` folder. Empty if they were not built. */
export async function sdkFiles(source: TemplateSource): Promise<readonly TemplateFile[]> {
  if (!existsSync(source.assetsDir)) return [];
  const names = await readdir(source.assetsDir);
  return names
    .filter((name) => name.endsWith(".tgz") || name.endsWith(".whl"))
    .sort()
    .map((name) => ({ from: join(source.assetsDir, name), to: `sdk/${name}` }));
}

export type Written = "created" | "replaced" | "same" | "kept";

/** Writes one file. If the file exists with other content, `existing` decides whether it is kept or replaced. */
export async function placeFile(
  file: TemplateFile,
  projectDir: string,
  existing: "keep" | "replace",
): Promise<Written> {
  const target = join(projectDir, file.to);
  const exists = await isFile(target);
  if (exists) {
    const [old, next] = await Promise.all([readFile(target), readFile(file.from)]);
    if (old.equals(next)) return "same";
    if (existing === "keep") return "kept";
  }
  await mkdir(dirname(target), { recursive: true });
  await copyFile(file.from, target);
  return exists ? "replaced" : "created";
}

async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !GENERATED.test(relative(dir, path)))
    .sort();
}

// Files that are created when a template is run in its own folder. Relative paths are tested, because the package
// itself may be in a folder with one of these names.
const GENERATED = /(?:^|[\\/])(?:node_modules|\.venv|__pycache__|\.pytest_cache|\.svc)[\\/]/;

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
