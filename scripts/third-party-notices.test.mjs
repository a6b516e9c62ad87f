import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasNotice, licenceOf, noticesOf, thirdPartyNotices } from "./third-party-notices.mjs";

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-notices-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function install(manifest, files = {}) {
  const path = mkdtempSync(join(folder, "package-"));
  for (const [name, text] of Object.entries({ "package.json": JSON.stringify(manifest), ...files }))
    writeFileSync(join(path, name), text);
  return path;
}
const MANIFEST = { name: "react", version: "19.0.0", license: "MIT" };

describe("thirdPartyNotices", () => {
  it("has the licences of what the build lists, and of what style sheets import", async () => {
    for (const path of ["src/web", "dist/web"]) mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, "vite.config.ts"), "");
    writeFileSync(join(folder, "src/web/theme.css"), '@import "tailwindcss";\n@import "./own.css";\n');
    await expect(thirdPartyNotices(folder)).rejects.toThrow("dist/web/packages.json does not exist");
    writeFileSync(join(folder, "dist/web/packages.json"), '["node_modules/zod"]');
    const notices = await thirdPartyNotices(folder);
    expect(notices).toMatch(/\n## tailwindcss [\d.]+ \(MIT\)\n\nMIT License\n/);
    expect(notices).toMatch(/\n## zod [\d.]+ \(MIT\)\n\nMIT License\n/);
  });

  it("has the licences of what a bundle contains", async () => {
    mkdirSync(join(folder, "bundle"));
    writeFileSync(join(folder, "bundle/contents.json"), '{ "files": [], "packages": ["node_modules/zod"] }');
    expect(await thirdPartyNotices(folder)).toMatch(/\n## zod [\d.]+ \(MIT\)\n\nMIT License\n/);
  });

  it("is undefined for a package without a page", async () => {
    expect(await thirdPartyNotices(folder)).toBeUndefined();
  });
});

describe("licenceOf", () => {
  it("reads the licence file", async () => {
    expect(await licenceOf(install(MANIFEST, { "LICENCE.txt": "text" }))).toEqual({
      name: "react",
      version: "19.0.0",
      licence: "MIT",
      text: "text",
    });
  });

  it("names the author in the text of a package under MIT without a licence file", async () => {
    const { text } = await licenceOf(install({ ...MANIFEST, author: "Ada <ada@example.org>" }));
    expect(text).toMatch(/^MIT License\n\nCopyright \(c\) Ada <ada@example.org>\n\nPermission is hereby granted/);
  });

  it.each([
    ["no licence", { ...MANIFEST, license: undefined }],
    ["another licence without a file", { ...MANIFEST, license: "Apache-2.0", author: "Ada" }],
    ["nobody who holds the rights", MANIFEST],
  ])("rejects a package with %s", async (_, manifest) => {
    await expect(licenceOf(install(manifest))).rejects.toThrow("the licence of react@19.0.0 is unknown");
  });
});

describe("noticesOf", () => {
  it("sorts the packages by name", () => {
    const notices = noticesOf(["b", "a"].map((name) => ({ name, version: "1.0.0", licence: "ISC", text: "text\n" })));
    expect(notices).toMatch(/\n## a 1\.0\.0 \(ISC\)\n\ntext\n\n## b 1\.0\.0 \(ISC\)\n\ntext\n$/);
    expect([hasNotice(notices, "a"), hasNotice(notices, "c")]).toEqual([true, false]);
  });
});
