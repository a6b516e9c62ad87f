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

/** Returns the name of a chunk that the build groups by name. */
function grouped(name: string): string {
  const found = Object.keys(manifest).find((key) => key.startsWith(`_${name}-`) && key.endsWith(".js"));
  if (found === undefined) throw new Error(`${name} is no chunk of the build`);
  return found;
}

/**
 * What each page loads until it can be used: the code of its address and the parts that it requests. All have the
 * chunk of the Dashboard.
 */
const DASHBOARD = [grouped("first")];
/** The palette, dialogs and notifications, which each page loads after its first second. */
const LATER = grouped("later");
const PAGES: Readonly<Record<string, readonly string[]>> = {
  "/workers": ["pages/workers/workers-page.tsx"],
  "/workers/x": ["pages/workers/workers-page.tsx", "pages/workers/worker-detail.tsx"],
  "/functions": ["pages/functions/functions-page.tsx"],
  "/triggers": ["pages/triggers/triggers-page.tsx"],
  "/states": ["pages/states/states-page.tsx"],
  "/streams": ["pages/streams/streams-page.tsx"],
  "/queues": ["pages/queues/queues-page.tsx"],
  "/traces": ["pages/traces/traces-page.tsx", "pages/traces/list/traces-list.tsx"],
  "/traces/x": ["pages/traces/traces-page.tsx", "pages/traces/detail/trace-detail.tsx"],
  "/logs": ["pages/logs/logs-page.tsx"],
  "/metrics": ["pages/metrics/metrics-page.tsx"],
  "/query": ["pages/query/query-page.tsx"],
  "/flow": ["pages/flow/flow-page.tsx", "pages/flow/flow-view.tsx"],
  "/nodes": ["pages/nodes/nodes-page.tsx"],
  "/config": ["pages/config/config-page.tsx"],
};
/** Large chunks that are loaded on demand, each with its own limit. */
const HEAVY: readonly string[] = [
  "pages/flow/flow-canvas.tsx",
  "pages/traces/detail/map-graph.tsx",
  "ui/json-editor-impl.tsx",
  "ui/json-diff-impl.tsx",
  "ui/time-chart-impl.tsx",
];
const isOfPages = new Set([...DASHBOARD, ...Object.values(PAGES).flat(), ...HEAVY]);
/** Chunks that are loaded on demand: a tab, a dialog, the detail of an item. */
const parts = Object.keys(manifest).filter((name) => manifest[name]?.isDynamicEntry === true && !isOfPages.has(name));

/** Returns the chunks and everything that they import. */
function closure(names: readonly string[], into = new Set<string>()): ReadonlySet<string> {
  for (const name of names) {
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`${name} is no chunk of the build`);
    if (into.has(name)) continue;
    into.add(name);
    closure(chunk.imports ?? [], into);
  }
  return into;
}

const sizes = new Map<string, number>();

/** Transfer size: fonts as they are, everything else compressed. */
function bytes(file: string): number {
  const content = readFileSync(new URL(file, built));
  const size = sizes.get(file) ?? (file.endsWith(".woff2") ? content.length : gzipSync(content, { level: 9 }).length);
  sizes.set(file, size);
  return size;
}

const total = (files: Iterable<string>): number => [...files].reduce((sum, file) => sum + bytes(file), 0) / KB;
const initial = closure(DASHBOARD);

/** JavaScript in KB that the chunks add. */
function added(names: readonly string[], before: ReadonlySet<string> = initial): number {
  return total([...closure(names)].filter((name) => !before.has(name)).map((name) => (manifest[name] as Chunk).file));
}

describe("what a browser loads, gzipped", () => {
  it("has at most 180 KB of JavaScript until the Dashboard can be used", () => {
    expect(added(DASHBOARD, new Set())).toBeLessThanOrEqual(180);
  });

  it("knows every page", async () => {
    const routes = await readdir(new URL("../../../packages/console/src/web/pages", import.meta.url));
    const known = new Set(["dashboard", ...Object.values(PAGES).map(([name = ""]) => name.split("/")[1])]);
    expect(routes.filter((folder) => !known.has(folder))).toEqual([]);
  });

  it.each(Object.entries(PAGES))("adds at most 40 KB for %s", (_address, names) => {
    expect(added(names)).toBeLessThanOrEqual(40);
  });

  it("adds at most 40 KB for the palette, dialogs and notifications", () => {
    expect(added([LATER])).toBeLessThanOrEqual(40);
  });

  it.each(parts)("adds at most 40 KB for %s, opened on its page", (name) => {
    const from = Object.values(PAGES)
      .map((names) => closure(names, new Set(initial)))
      .filter((loaded) => [...loaded].some((each) => manifest[each]?.dynamicImports?.includes(name) === true));
    // Of several pages the one that has loaded least of it; a part that no page opens directly counts from the first
    // load.
    expect(
      Math.max(...(from.length === 0 ? [initial] : from).map((loaded) => added([name], loaded))),
    ).toBeLessThanOrEqual(40);
  });

  it("adds at most 125 KB for the editor, and little for differences", () => {
    expect(added(["ui/json-editor-impl.tsx"])).toBeLessThanOrEqual(125);
    expect(
      added(["ui/json-diff-impl.tsx"], closure(["ui/json-editor-impl.tsx"], new Set(initial))),
    ).toBeLessThanOrEqual(15);
  });

  it.each([
    ["pages/flow/flow-canvas.tsx", "/flow"],
    ["pages/traces/detail/map-graph.tsx", "/traces/x"],
  ])("adds at most 75 KB for the graph %s, its layout included", async (graph, page) => {
    const layouts = (await readdir(new URL("assets", built))).filter((file) =>
      /-layout\.worker-[\w-]+\.js$/.test(file),
    );
    expect(layouts.length).toBeGreaterThan(0);
    const drawn = added([graph], closure(PAGES[page] ?? [], new Set(initial)));
    expect(drawn + total(layouts.map((file) => `assets/${file}`))).toBeLessThanOrEqual(75);
  });

  it("adds at most 25 KB for charts", () => {
    expect(added(["ui/time-chart-impl.tsx"])).toBeLessThanOrEqual(25);
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
