import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ABOUT = "template.json";

/** The package's own folder: templates and assets lie beside `src` and `dist`. */
const packageDir = fileURLToPath(new URL("..", import.meta.url));

export interface TemplateSource {
  /** Holds one folder per template. */
  readonly templatesDir: string;
  /** Holds the built SDK packages, which a scaffold gets as `sdk/`. */
  readonly assetsDir: string;
}

/** What ships with this package. */
export const bundledTemplates: TemplateSource = { templatesDir: join(packageDir, "templates"), assetsDir: join(packageDir, "assets") };

/** What a template says about itself, in its `template.json`; that file is not copied. */
export interface Template {
  readonly name: string;
  readonly description: string;
  /** Commands to type next, in the project's folder. */
  readonly nextSteps: readonly string[];
}

/** One file of a scaffold: where it comes from and where it goes, the latter relative to the project. */
export interface TemplateFile {
  readonly from: string;
  readonly to: string;
}

/** What a newcomer takes comes first. */
const ORDER: readonly string[] = ["quickstart", "typescript", "python", "blank"];

/** The templates that there are. */
export async function listTemplates(source: TemplateSource): Promise<readonly Template[]> {
  const entries = await readdir(source.templatesDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const rank = (name: string): number => ORDER.indexOf(name) + 1 || ORDER.length + 1;
  return Promise.all(names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((name) => readTemplate(source, name)));
}

async function readTemplate(source: TemplateSource, name: string): Promise<Template> {
  const text = await readFile(join(source.templatesDir, name, ABOUT), "utf8");
  const about = JSON.parse(text) as { readonly description: string; readonly next_steps: readonly string[] };
  return { name, description: about.description, nextSteps: about.next_steps };
}

/** The template's own files. A file named `gitignore` becomes `.gitignore`: npm leaves files of the latter name out of packages. */
export async function templateFiles(source: TemplateSource, template: string): Promise<readonly TemplateFile[]> {
  const root = join(source.templatesDir, template);
  const files = await filesBelow(root);
  return files
    .filter((from) => from !== join(root, ABOUT))
    .map((from) => {
      const parts = relative(root, from).split(sep);
      return { from, to: parts.map((part) => (part === "gitignore" ? ".gitignore" : part)).join("/") };
    });
}

/** The SDK packages that go into a project's `sdk/` folder. Empty when they were not built. */
export async function sdkFiles(source: TemplateSource): Promise<readonly TemplateFile[]> {
  if (!existsSync(source.assetsDir)) return [];
  const names = await readdir(source.assetsDir);
  return names
    .filter((name) => name.endsWith(".tgz") || name.endsWith(".whl"))
    .sort()
    .map((name) => ({ from: join(source.assetsDir, name), to: `sdk/${name}` }));
}

export type Written = "created" | "replaced" | "same" | "kept";

/** Puts one file in place. `existing` says what becomes of a file that is there with other content. */
export async function placeFile(file: TemplateFile, projectDir: string, existing: "keep" | "replace"): Promise<Written> {
  const target = join(projectDir, file.to);
  const there = await isFile(target);
  if (there) {
    const [old, next] = await Promise.all([readFile(target), readFile(file.from)]);
    if (old.equals(next)) return "same";
    if (existing === "keep") return "kept";
  }
  await mkdir(dirname(target), { recursive: true });
  await copyFile(file.from, target);
  return there ? "replaced" : "created";
}

async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !leftBehind.test(relative(dir, path)))
    .sort();
}

// Someone may have run a template in place; what that leaves behind is not part of it. The package itself may lie in such a folder.
const leftBehind = /(?:^|[\\/])(?:node_modules|\.venv|__pycache__|\.pytest_cache|\.svc)[\\/]/;

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
