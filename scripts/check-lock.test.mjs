import { describe, expect, it } from "vitest";
import { lockProblems } from "./check-lock.mjs";

const INTEGRITY = "sha512-AAAA==";

function lockWith(entries) {
  return {
    lockfileVersion: 3,
    packages: {
      "": { name: "repository", workspaces: ["packages/*"], devDependencies: { tool: "1.0.0" } },
      "packages/engine": { name: "@svc-runtime/engine", version: "0.1.0", dependencies: { parser: "2.0.0" } },
      "node_modules/@svc-runtime/engine": { resolved: "packages/engine", link: true },
      "node_modules/tool": { version: "1.0.0", integrity: INTEGRITY, dev: true },
      "node_modules/parser": { version: "2.0.0", integrity: INTEGRITY },
      ...entries,
    },
  };
}

const MANIFESTS = {
  "": { devDependencies: { tool: "1.0.0" } },
  "packages/engine": { dependencies: { parser: "2.0.0" } },
};
const problems = (entries, manifests = MANIFESTS) => lockProblems(lockWith(entries), (folder) => manifests[folder]);

describe("lockProblems", () => {
  it("accepts entries with integrity; links and workspaces need none", () => {
    expect(problems({})).toEqual([]);
  });

  it("reports an entry without integrity", () => {
    expect(problems({ "node_modules/parser": { version: "2.0.0" } })).toEqual([
      expect.stringContaining("node_modules/parser@2.0.0: no integrity."),
    ]);
  });

  it("reports integrity by a weak hash", () => {
    expect(problems({ "node_modules/parser": { version: "2.0.0", integrity: "sha1-AAAA=" } })).toEqual([
      expect.stringContaining("weak integrity (sha1)"),
    ]);
  });

  it("reports a download address", () => {
    const entry = { version: "2.0.0", integrity: INTEGRITY, resolved: "https://registry.example/parser.tgz" };
    expect(problems({ "node_modules/parser": entry })).toEqual([
      expect.stringContaining("download address https://registry.example/parser.tgz"),
    ]);
  });

  it("accepts a bundled package without integrity, as its parent's covers it", () => {
    const parser = {
      version: "2.0.0",
      integrity: INTEGRITY,
      dependencies: { inner: "1.0.0" },
      bundleDependencies: ["inner"],
    };
    expect(
      problems({
        "node_modules/parser": parser,
        "node_modules/parser/node_modules/inner": { version: "1.0.0", inBundle: true },
      }),
    ).toEqual([]);
  });

  it("reports a dependency without an entry, except an optional peer", () => {
    const parser = {
      version: "2.0.0",
      integrity: INTEGRITY,
      dependencies: { missing: "1.0.0" },
      peerDependencies: { peer: "1.0.0", maybe: "1.0.0" },
      peerDependenciesMeta: { maybe: { optional: true } },
    };
    expect(problems({ "node_modules/parser": parser })).toEqual([
      expect.stringContaining("node_modules/parser: dependency missing has no entry"),
      expect.stringContaining("node_modules/parser: dependency peer has no entry"),
    ]);
  });

  it("reports the package of another platform that the lock file lacks", () => {
    const parser = { version: "2.0.0", integrity: INTEGRITY, optionalDependencies: { "parser-darwin-arm64": "2.0.0" } };
    expect(problems({ "node_modules/parser": parser })).toEqual([
      expect.stringContaining("optional dependency parser-darwin-arm64 has no entry"),
    ]);
  });

  it("finds dependencies in the node_modules of the folders above", () => {
    const nested = { version: "1.0.0", integrity: INTEGRITY, dependencies: { tool: "1.0.0" } };
    expect(problems({ "packages/engine/node_modules/@scope/nested": nested })).toEqual([]);
  });

  it("reports a package.json that was changed without the lock file", () => {
    const manifests = { ...MANIFESTS, "packages/engine": { dependencies: { parser: "3.0.0" } } };
    expect(problems({}, manifests)).toEqual([
      expect.stringContaining("packages/engine/package.json: dependencies and the lock file differ"),
    ]);
  });

  it("reports a workspace without package.json", () => {
    expect(problems({}, { "": MANIFESTS[""] })).toEqual([expect.stringContaining("packages/engine/package.json")]);
  });

  it("reports another version of the format", () => {
    const lock = { ...lockWith({}), lockfileVersion: 2 };
    expect(lockProblems(lock, (folder) => MANIFESTS[folder])).toEqual([
      expect.stringContaining("lockfileVersion is 2, expected 3"),
    ]);
  });
});
