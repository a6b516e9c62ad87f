import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

const BROWSER = fileURLToPath(new URL("./browser.js", import.meta.url));
const KB = 1_000;

interface Bundle {
  /** Gzipped and minified. */
  readonly bytes: number;
  /** Files with at least one used statement. */
  readonly files: readonly string[];
}

/** Bundles a page's script with this statement, as a page's bundler does. */
async function bundleOf(statement: string): Promise<Bundle> {
  const bundle = await rolldown({
    input: "page",
    platform: "browser",
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? id : undefined),
        load: (id) => (id === "page" ? `${statement} from ${JSON.stringify(BROWSER)};` : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const [chunk] = output;
  const files = Object.entries(chunk.modules)
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([file]) => file);
  return { bytes: gzipSync(chunk.code).length, files };
}

describe("what a page loads", () => {
  it.each([
    ["the streams client", "export { connectStreams }", 12 * KB],
    ["CallError", "export { CallError }", 4 * KB],
    ["a worker", "export { connect }", 33 * KB],
    ["everything", "export *", 36 * KB],
  ])("for %s has its limit of bytes, and no schema library", async (_what, statement, limit) => {
    const { bytes, files } = await bundleOf(statement);
    expect(files.filter((file) => file.includes("/zod/"))).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(limit);
  });
});
