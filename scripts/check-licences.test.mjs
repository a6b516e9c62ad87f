import { describe, expect, it } from "vitest";
import { declaredLicence, importsOf, isAllowed, licenceProblems, npmPackages } from "./check-licences.mjs";

const ALLOWED = ["MIT", "Apache-2.0", "ISC"];

describe("isAllowed", () => {
  it.each([
    ["MIT", true],
    ["GPL-3.0-only", false],
    ["MIT OR GPL-3.0-only", true],
    ["(GPL-2.0-only OR GPL-3.0-only)", false],
    ["MIT AND ISC", true],
    ["MIT AND GPL-3.0-only", false],
    ["(GPL-3.0-only OR MIT) AND Apache-2.0", true],
    ["MIT AND (GPL-3.0-only OR AGPL-3.0-only)", false],
    ["Apache-2.0 WITH LLVM-exception", true],
    ["LicenseRef-Our-Own", false],
    ["SEE LICENSE IN LICENSE.md", undefined],
    ["UNLICENSED", undefined],
    ["Apache 2", undefined],
  ])("%s: %s", (expression, expected) => {
    expect(isAllowed(expression, ALLOWED)).toBe(expected);
  });
});

function shipped(name, licence) {
  return {
    ecosystem: "npm",
    name,
    version: "1.2.3",
    licence,
    isShipped: true,
    chain: ["@svc-runtime/engine", "middle@2.0.0", `${name}@1.2.3`],
  };
}

describe("licenceProblems", () => {
  it("accepts the allowed licences", () => {
    const packages = ["MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD"].map((licence) =>
      shipped(`with-${licence}`, licence),
    );
    expect(licenceProblems(packages, {})).toEqual([]);
  });

  it("names the package, its licence, its dependants and what to do", () => {
    const [problem] = licenceProblems([shipped("copyleft", "GPL-3.0-only")], {});
    expect(problem).toMatch(/^copyleft@1\.2\.3 \(npm\): licence not allowed: GPL-3\.0-only$/m);
    expect(problem).toMatch(/needed by: @svc-runtime\/engine > middle@2\.0\.0 > copyleft@1\.2\.3 \(shipped\)$/m);
    expect(problem).toMatch(/what to do: use another package/);
  });

  it("reports a missing licence and an unknown one", () => {
    const problems = licenceProblems([shipped("silent", undefined), shipped("vague", "SEE LICENSE IN LICENSE.md")], {});
    expect(problems).toEqual([
      expect.stringContaining("silent@1.2.3 (npm): no licence declared"),
      expect.stringContaining('vague@1.2.3 (npm): unknown licence "SEE LICENSE IN LICENSE.md"'),
    ]);
  });

  it.each(["MPL-2.0", "BlueOak-1.0.0", "CC0-1.0"])("accepts %s for tools only", (licence) => {
    expect(licenceProblems([{ ...shipped("tool", licence), isShipped: false }], {})).toEqual([]);
    expect(licenceProblems([shipped("tool", licence)], {})).toHaveLength(1);
  });

  it("accepts OFL-1.1 for fonts only", () => {
    expect(licenceProblems([shipped("@fontsource-variable/geist", "OFL-1.1")], {})).toEqual([]);
    expect(licenceProblems([shipped("editor", "OFL-1.1")], {})).toHaveLength(1);
  });

  it("accepts an exception for the named version and licence only", () => {
    const exceptions = { "reviewed@1.2.3": { licence: "Unlicense", reason: "Public domain." } };
    expect(licenceProblems([shipped("reviewed", "Unlicense")], exceptions)).toEqual([]);
    expect(licenceProblems([{ ...shipped("reviewed", "Unlicense"), version: "1.3.0" }], exceptions)).toHaveLength(2);
    expect(licenceProblems([shipped("reviewed", "GPL-3.0-only")], exceptions)).toHaveLength(2);
  });

  it("reports an exception that no package needs", () => {
    expect(licenceProblems([], { "removed@1.0.0": { licence: "Unlicense", reason: "Public domain." } })).toEqual([
      expect.stringContaining("exception for removed@1.0.0: no installed package needs it"),
    ]);
  });
});

describe("npmPackages", () => {
  const entries = {
    "": { devDependencies: { linter: "1.0.0" } },
    "packages/engine": {
      name: "@svc-runtime/engine",
      dependencies: { server: "1.0.0" },
      devDependencies: { mock: "1.0.0" },
    },
    "packages/console": {
      name: "@svc-runtime/console",
      dependencies: { "@svc-runtime/engine": "0.1.0" },
      devDependencies: { ui: "1.0.0", bundler: "1.0.0" },
    },
    "node_modules/@svc-runtime/engine": { resolved: "packages/engine", link: true },
    "node_modules/server": {
      version: "1.0.0",
      license: "MIT",
      dependencies: { helper: "1.0.0" },
      optionalDependencies: { "server-darwin": "1.0.0" },
    },
    "node_modules/server-darwin": { version: "1.0.0", license: "ISC", optional: true },
    "node_modules/server/node_modules/helper": { version: "1.0.0", license: "MIT" },
    "node_modules/helper": { version: "2.0.0", license: "MPL-2.0", dev: true },
    "node_modules/ui": { version: "1.0.0", license: "MIT", peerDependencies: { paint: "1.0.0" }, dev: true },
    "node_modules/paint": { version: "1.0.0", license: "MIT", dev: true },
    "node_modules/bundler": { version: "1.0.0", license: "MIT", dependencies: { helper: "2.0.0" }, dev: true },
    "node_modules/linter": { version: "1.0.0", dev: true },
    "node_modules/mock": { version: "1.0.0", license: "MIT", dev: true },
  };
  const installed = {
    "node_modules/linter": { license: "Apache-2.0" },
    "node_modules/server": { license: "BSD-2-Clause" },
  };
  const packages = npmPackages(entries, {
    page: "packages/console",
    pageImports: ["ui"],
    readManifest: (path) => installed[path],
  });
  const named = (name, version = "1.0.0") => packages.find((one) => one.name === name && one.version === version);

  it("marks as shipped the packages that workspaces need at run time or the page imports, with their dependencies and peers", () => {
    const names = packages.filter(({ isShipped }) => isShipped).map(({ name, version }) => `${name}@${version}`);
    expect(names.sort()).toEqual(["helper@1.0.0", "paint@1.0.0", "server-darwin@1.0.0", "server@1.0.0", "ui@1.0.0"]);
  });

  it("reads the licence of the installed package first, then that of the lock file", () => {
    expect(named("server").licence).toBe("BSD-2-Clause");
    expect(named("linter").licence).toBe("Apache-2.0");
    expect(named("server-darwin").licence).toBe("ISC");
  });

  it("names the dependants", () => {
    expect(named("helper").chain).toEqual(["@svc-runtime/engine", "server@1.0.0", "helper@1.0.0"]);
    expect(named("helper", "2.0.0").chain).toEqual(["bundler@1.0.0", "helper@2.0.0"]);
    expect(named("paint").chain).toEqual(["@svc-runtime/console", "ui@1.0.0", "paint@1.0.0"]);
  });
});

describe("declaredLicence", () => {
  it.each([
    [{ license: "MIT" }, "MIT"],
    [{ license: { type: "MIT", url: "https://example.org" } }, "MIT"],
    [{ licenses: [{ type: "MIT" }] }, "MIT"],
    [{ licenses: [{ type: "MIT" }, { type: "Apache-2.0" }] }, "(MIT OR Apache-2.0)"],
    [{ license: "" }, undefined],
    [{}, undefined],
    [undefined, undefined],
  ])("%j: %s", (manifest, expected) => {
    expect(declaredLicence(manifest)).toBe(expected);
  });
});

it("finds imports of TypeScript and CSS", () => {
  const source = `
import { useState } from "react";
import "uplot/dist/uPlot.min.css";
import {
  EditorView,
} from "@codemirror/view";
export { z } from 'zod/mini';
const lazy = () => import("cronstrue");
import { local } from "./local.ts";
@import "tailwindcss";
@import "@fontsource-variable/geist";
`;
  expect(importsOf(source)).toEqual([
    "react",
    "uplot",
    "@codemirror/view",
    "zod",
    "cronstrue",
    "tailwindcss",
    "@fontsource-variable/geist",
  ]);
});
