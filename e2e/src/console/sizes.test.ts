import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const built = new URL("../../../packages/console/dist/web/", import.meta.url);
const KB = 1024;

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly isDynamicEntry?: boolean;
  readonly css?: readonly string[];
}

const manifest = JSON.parse(readFileSync(new URL("manifest.json", built), "utf8")) as Readonly<Record<string, Chunk>>;
const sizes = new Map<string, number>();

/** What a browser loads of it: fonts as they are, all else compressed. */
function bytes(file: string): number {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const content = readFileSync(new URL(file, built));
  const size = file.endsWith(".woff2") ? content.length : gzipSync(content, { level: 9 }).length;
  sizes.set(file, size);
  return size;
}

const total = (files: Iterable<string>): number => [...files].reduce((sum, file) => sum + bytes(file), 0) / KB;

/** The chunk and all that it cannot run without. */
function closure(name: string, into = new Set<string>()): ReadonlySet<string> {
  if (into.has(name)) return into;
  into.add(name);
  for (const imported of manifest[name]?.imports ?? []) closure(imported, into);
  return into;
}

const initial = closure("index.html");

const isGraph = (name: string): boolean => name.includes("-graph");
const isPage = (name: string): boolean => /^pages\/\w+\/\w+-page\.tsx$/.test(name);
/** Pages, and the parts of pages that are loaded when they are looked at. */
const pages = Object.keys(manifest).filter((name) => /^(?:pages|app)\//.test(name) && manifest[name]?.isDynamicEntry === true && !isGraph(name));

/**
 * What two thirds of the pages need (panes, dialogs): whoever uses the console has it after the first pages, so it counts with the
 * shell, against its bound, and not once more with each page.
 */
const common = new Set(
  Object.keys(manifest).filter((name) => {
    const folders = new Set(pages.filter((page) => closure(page).has(name)).map((page) => page.split("/", 2).join("/")));
    return !initial.has(name) && [...folders].filter((folder) => folder.startsWith("pages/")).length >= (pages.filter(isPage).length * 2) / 3;
  }),
);

/** What is loaded for a chunk on top of the shell, of what pages have in common, and of what was there before it. */
function added(name: string, before: ReadonlySet<string> = new Set()): string[] {
  const isNew = (each: string): boolean => !initial.has(each) && !common.has(each) && !before.has(each);
  return filesOf([...closure(name)].filter(isNew));
}

const filesOf = (names: Iterable<string>): string[] => [...names].map((name) => (manifest[name] as Chunk).file);

describe("what a browser loads, gzipped", () => {
  it("starts with at most 180 KB of JavaScript, what most pages share included", () => {
    expect(total(filesOf([...initial, ...common]))).toBeLessThanOrEqual(180);
  });

  it("knows the pages", () => {
    expect(pages.filter(isPage)).toHaveLength(11);
  });

  it.each(pages)("adds at most 40 KB for %s", (name) => {
    // A part of a page is loaded when the page is there.
    const holder = Object.keys(manifest).find((each) => each !== "index.html" && manifest[each]?.dynamicImports?.includes(name) === true);
    expect(total(added(name, holder === undefined ? undefined : closure(holder)))).toBeLessThanOrEqual(40);
  });

  it("adds at most 125 KB for the editor, and little for differences", () => {
    expect(total(added("ui/json-editor-impl.tsx"))).toBeLessThanOrEqual(125);
    expect(total(added("ui/json-diff-impl.tsx", closure("ui/json-editor-impl.tsx")))).toBeLessThanOrEqual(15);
  });

  it("adds at most 75 KB for a graph, its layout included", async () => {
    const graphs = Object.keys(manifest).filter((name) => isGraph(name) && manifest[name]?.isDynamicEntry === true);
    expect(graphs.length).toBeGreaterThan(0);
    const layouts = (await readdir(new URL("assets", built))).filter((file) => /-layout\.worker-[\w-]+\.js$/.test(file)).map((file) => `assets/${file}`);
    expect(layouts.length).toBeGreaterThan(0);
    const ofPages = new Set(pages.flatMap((name) => [...closure(name)]));
    for (const graph of graphs) for (const layout of layouts) expect(total([...added(graph, ofPages), layout])).toBeLessThanOrEqual(75);
  });

  it("adds at most 25 KB for charts", () => {
    expect(total(added("ui/time-chart-impl.tsx"))).toBeLessThanOrEqual(25);
  });

  it("has at most 25 KB of styles in all", () => {
    expect(total(new Set(Object.values(manifest).flatMap(({ css }) => css ?? [])))).toBeLessThanOrEqual(25);
  });

  it("has at most 80 KB of fonts for Latin text", () => {
    const latin = Object.values(manifest).flatMap(({ file }) => (/-latin-wght-[^/]*\.woff2$/.test(file) ? [file] : []));
    expect(latin).toHaveLength(2);
    expect(total(latin)).toBeLessThanOrEqual(80);
  });
});
