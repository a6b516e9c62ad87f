import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const outDir = fileURLToPath(new URL("./dist/web", import.meta.url));

/** Compresses what the browser loads once, here, so that the server never does. Fonts are compressed already; index.html is filled in for each request. */
const precompressed: Plugin = {
  name: "precompressed",
  apply: "build",
  async closeBundle() {
    const assets = join(outDir, "assets");
    const files = (await readdir(assets)).filter((name) => /\.(?:css|js|svg)$/.test(name));
    await Promise.all(
      files.map(async (name) => {
        const content = await readFile(join(assets, name));
        const [br, gz] = await Promise.all([
          promisify(brotliCompress)(content),
          promisify(gzip)(content, { level: 9 }),
        ]);
        await Promise.all([writeFile(join(assets, `${name}.br`), br), writeFile(join(assets, `${name}.gz`), gz)]);
      }),
    );
  },
};

// `npm run build:web` makes dist/web, which the server serves. `vite` alone serves the page for work on it, with a console server behind it (CONSOLE, default port 3113).
export default defineConfig({
  root: fileURLToPath(new URL("./src/web", import.meta.url)),
  plugins: [react(), tailwindcss(), precompressed],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // The content security policy allows no inline images of other kinds.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    reportCompressedSize: false,
  },
});
