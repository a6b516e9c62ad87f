import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const root = fileURLToPath(new URL("./src/web", import.meta.url));
const outDir = fileURLToPath(new URL("./dist/web", import.meta.url));

/** The page itself and the Dashboard; with all that they import, one file. Also small parts that most pages use. */
const FIRST =
  /\/src\/web\/(?:main|pages\/dashboard\/(?:dashboard-page|flow-section|slowest-span)|ui\/badge|model\/trace-outcome)\.tsx?$/;
/** What `LATER` has in common with other pages, which would otherwise load all of it. */
const SHARED = /\/src\/web\/ui\/tabs\.tsx$|\/lucide-react\/.*\/icons\/(?:bell|corner-down-right)\.m?js$/;
/** What each page loads after its first second; with what only it imports, one file. */
const LATER = /\/src\/web\/(?:app\/(?:palette|notifications)|ui\/(?:dialog-impl|popover-impl))\.tsx$/;

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

/** Folders of the packages of which the page contains copies, relative to the repository. */
const bundled = new Set<string>();
/**
 * Writes these folders to packages.json, for scripts/third-party-notices.mjs. Vite's own list (`build.license`) lacks the
 * packages of the page's workers, which are bundled apart, and fonts.
 */
const listPackages = (): Plugin => ({
  name: "list-packages",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      for (const output of Object.values(bundle)) {
        for (const file of output.type === "chunk" ? output.moduleIds : output.originalFileNames) {
          const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(resolve(root, file)) ?? [];
          if (folder !== undefined) bundled.add(relative(repository, folder));
        }
      }
      this.emitFile({ type: "asset", fileName: "packages.json", source: JSON.stringify([...bundled].sort()) });
    },
  },
});

// `npm run build:web` makes dist/web, which the server serves. `vite` alone serves the page for work on it, with a console server behind it (CONSOLE, default port 3113).
export default defineConfig({
  root,
  plugins: [react(), tailwindcss(), precompressed, listPackages()],
  worker: { plugins: () => [listPackages()] },
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // The content security policy allows no inline images of other kinds.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Otherwise what several pages share is one small file each, and the Dashboard loads 50 of them.
        codeSplitting: {
          groups: [
            { name: "first", priority: 3, test: FIRST },
            { name: "shared", priority: 2, test: SHARED },
            { name: "later", priority: 1, test: LATER },
          ],
        },
      },
    },
  },
});
