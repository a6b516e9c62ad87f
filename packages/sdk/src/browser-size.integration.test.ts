import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type OutputChunk, rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import * as entry from "./browser.ts";

const BROWSER = fileURLToPath(new URL("./browser.js", import.meta.url));
const KB = 1_000;

interface Bundle {
  /** What the page loads at its start: its script and the chunks that it imports statically. Gzipped and minified. */
  readonly bytes: number;
  /** Chunks that are loaded when they are needed. */
  readonly onDemand: number;
  /** Files with at least one used statement, in all chunks. */
  readonly files: readonly string[];
}

/** Bundles a page's script that uses these exports, as a page's bundler does. */
async function bundleOf(names: readonly string[]): Promise<Bundle> {
  const script = `import { ${names.join(", ")} } from ${JSON.stringify(BROWSER)}; globalThis.used = [${names.join(", ")}];`;
  const bundle = await rolldown({
    input: "page",
    platform: "browser",
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? id : undefined),
        load: (id) => (id === "page" ? script : undefined),
      },
    ],
    // A warning is one that users' bundlers show too.
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const chunks = new Map(
    output.filter((file): file is OutputChunk => file.type === "chunk").map((chunk) => [chunk.fileName, chunk]),
  );
  const atStart = new Set<OutputChunk>();
  const add = (chunk: OutputChunk | undefined): void => {
    if (chunk === undefined || atStart.has(chunk)) return;
    atStart.add(chunk);
    for (const file of chunk.imports) add(chunks.get(file));
  };
  add([...chunks.values()].find(({ isEntry }) => isEntry));
  return {
    bytes: [...atStart].reduce((sum, { code }) => sum + gzipSync(code).length, 0),
    onDemand: chunks.size - atStart.size,
    files: [...chunks.values()].flatMap(({ modules }) =>
      Object.entries(modules)
        .filter(([, { renderedLength }]) => renderedLength > 0)
        .map(([file]) => file),
    ),
  };
}

describe("what a page loads at its start", () => {
  // Issue: the streams client at most 12 KB, everything at most 25 KB. The others are about 2 % above what they have.
  it.each([
    ["the streams client", ["connectStreams"], 8.3 * KB, 0],
    ["CallError", ["CallError"], 1.35 * KB, 0],
    ["a worker", ["connect"], 21.7 * KB, 6],
    ["everything", Object.keys(entry), 25 * KB, 6],
  ])("for %s has its limit of bytes, and no schema library", async (_what, names, limit, minOnDemand) => {
    const { bytes, onDemand, files } = await bundleOf(names);
    expect(files.filter((file) => file.includes("/zod/"))).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(limit);
    expect(onDemand).toBeGreaterThanOrEqual(minOnDemand);
  });
});
