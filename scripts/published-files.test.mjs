import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { publishedFiles } from "./published-files.mjs";
import { contentProblem } from "./stage-package.mjs";

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-published-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
}

describe("publishedFiles", () => {
  it("names the output of each source, and all files of other folders, also tests of templates", async () => {
    write({
      "package.json": { files: ["bin", "dist", "templates", "!dist/**/*.test.*"] },
      "bin/svc.js": "",
      "src/index.ts": "",
      "src/deep/part.ts": "",
      "src/index.test.ts": "",
      "src/engine.test-support.ts": "",
      "src/testing/suite.ts": "",
      "dist/index.js": "",
      "dist/index.d.ts": "",
      "dist/index.js.map": "",
      "dist/index.test.js": "",
      "dist/deep/part.js": "",
      "dist/deep/part.d.ts": "",
      "dist/removed.js": "",
      "templates/typescript/src/greeter.test.ts": "",
      "templates/typescript/node_modules/tool/index.js": "",
    });
    expect(await publishedFiles(folder)).toEqual([
      "bin/svc.js",
      "dist/deep/part.d.ts",
      "dist/deep/part.js",
      "dist/index.d.ts",
      "dist/index.js",
      "templates/typescript/src/greeter.test.ts",
    ]);
  });

  it("rejects a package with a source that was not compiled, or with an empty folder", async () => {
    write({ "package.json": { files: ["bin", "dist"] }, "src/index.ts": "", "dist/index.js": "", "bin/svc.js": "" });
    await expect(publishedFiles(folder)).rejects.toThrow("dist/index.d.ts does not exist");
    write({ "package.json": { files: ["assets"] } });
    await expect(publishedFiles(folder)).rejects.toThrow("assets does not exist");
  });

  it("names the files of the bundle as its bundler lists them, and rejects a package without its bundle", async () => {
    write({ "package.json": { files: ["bundle"] }, "src/index.ts": "" });
    await expect(publishedFiles(folder)).rejects.toThrow("bundle does not exist");
    write({ "bundle/contents.json": { files: ["main.js", "engine-1.js"], packages: [] }, "bundle/main.js": "" });
    await expect(publishedFiles(folder)).rejects.toThrow("bundle/engine-1.js does not exist");
    write({ "bundle/engine-1.js": "", "bundle/engine-0.js": "", "bundle/main.js.map": "" });
    expect(await publishedFiles(folder)).toEqual(["bundle/engine-1.js", "bundle/main.js"]);
  });

  it("names the page as its bundler lists it, and rejects a console without its page", async () => {
    write({
      "package.json": { files: ["dist"] },
      "vite.config.ts": "",
      "src/server/main.ts": "",
      "src/web/page.ts": "",
      "src/web/public/favicon.svg": "",
      "dist/server/main.js": "",
      "dist/server/main.d.ts": "",
    });
    await expect(publishedFiles(folder)).rejects.toThrow("dist/web/index.html does not exist");
    const asset = (name) => Object.fromEntries(["", ".br", ".gz"].map((end) => [`dist/web/assets/${name}${end}`, ""]));
    write({
      "dist/web/manifest.json": { "index.html": { file: "assets/index.js", css: ["assets/index.css"] } },
      "dist/web/index.html": "",
      "dist/web/favicon.svg": "",
      ...asset("index.js"),
      ...asset("old.js"),
    });
    await expect(publishedFiles(folder)).rejects.toThrow("dist/web/assets/index.css does not exist");
    write(asset("index.css"));
    const files = await publishedFiles(folder);
    expect(files).toContain("dist/web/assets/index.js.br");
    expect(files).not.toContain("dist/web/assets/old.js");
  });
});

describe("contentProblem", () => {
  it("names files that a tarball lacks, and those that it should not contain", () => {
    expect(contentProblem(["a", "b"], ["b", "a"])).toBeUndefined();
    expect(contentProblem(["a"], ["a", "b"])).toBe("lacks b: check `files` in its package.json and ignore files");
    expect(contentProblem(["a", "c"], ["a"])).toBe("contains c, which it should not");
  });
});
