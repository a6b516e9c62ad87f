import { describe, expect, it } from "vitest";
import { packageProblems } from "./release-checks.mjs";

const LICENCE = "MIT License\n";
const VERSION = "1.2.3";
const LIMIT = { packed: 1_000, unpacked: 10_000 };
const LIMITS = {
  "svc-runtime": LIMIT,
  "@svc-runtime/console": LIMIT,
  "svc-runtime (wheel)": LIMIT,
  "svc-runtime (sdist)": LIMIT,
};

const MANIFEST = {
  name: "svc-runtime",
  version: VERSION,
  license: "MIT",
  dependencies: { "@svc-runtime/engine": VERSION, yaml: "2.9.1" },
};
const METADATA =
  "Metadata-Version: 2.4\nName: svc-runtime\nVersion: 1.2.3\nLicense-Expression: MIT\n\n# svc for Python\n";

/** A package without problems, except for what `change` replaces. Files that are undefined are removed. */
function npmPackage({ manifest = {}, files = {}, ...facts } = {}) {
  return packageOf(
    {
      "package.json": JSON.stringify({ ...MANIFEST, ...manifest }),
      "README.md": "# svc\n",
      LICENSE: LICENCE,
      ...files,
    },
    { kind: "npm", file: "svc-runtime-1.2.3.tgz", ...facts },
  );
}

function wheel({ metadata = METADATA, files = {} } = {}) {
  const info = "svc_runtime-1.2.3.dist-info";
  return packageOf(
    { "svc/__init__.py": "", [`${info}/METADATA`]: metadata, [`${info}/licenses/LICENSE`]: LICENCE, ...files },
    { kind: "wheel", file: "svc_runtime-1.2.3-py3-none-any.whl" },
  );
}

function sdist(files = {}) {
  return packageOf(
    { "PKG-INFO": METADATA, LICENSE: LICENCE, "src/svc/__init__.py": "", ...files },
    { kind: "sdist", file: "svc_runtime-1.2.3.tar.gz" },
  );
}

function packageOf(contents, facts) {
  const files = new Map(
    Object.entries(contents).flatMap(([path, text]) => (text === undefined ? [] : [[path, Buffer.from(text)]])),
  );
  return { name: "svc-runtime", packedBytes: 500, files, expected: [...files.keys()], bundled: [], ...facts };
}

const problemsOf = (...packages) => packageProblems(packages, { version: VERSION, licence: LICENCE, limits: LIMITS });

describe("packageProblems", () => {
  it("reports nothing about packages as they should be", () => {
    expect(problemsOf(npmPackage(), wheel(), sdist())).toEqual([]);
  });

  it("begins each message with the name of the file", () => {
    expect(problemsOf(npmPackage({ manifest: { license: "ISC" } }))).toEqual([
      "svc-runtime-1.2.3.tgz: its licence is ISC, expected MIT",
    ]);
  });

  it.each([
    ["another name", npmPackage({ manifest: { name: "svc" } }), "its name is svc, expected svc-runtime"],
    [
      "another version",
      npmPackage({ manifest: { version: "1.2.2" } }),
      "its version is 1.2.2, expected 1.2.3, as all packages",
    ],
    [
      "another version",
      wheel({ metadata: METADATA.replace("1.2.3", "1.2.4") }),
      "its version is 1.2.4, expected 1.2.3",
    ],
    ["another name", sdist({ "PKG-INFO": METADATA.replace("svc-runtime", "svc") }), "its name is svc, expected"],
    [
      "another version of a package of svc",
      npmPackage({ manifest: { dependencies: { "@svc-runtime/engine": "^1.2.3" } } }),
      "dependencies: @svc-runtime/engine@^1.2.3 must be 1.2.3",
    ],
    [
      "a foreign dependency",
      npmPackage({ manifest: { peerDependencies: { "@svc/engine": "1.2.3" } } }),
      "peerDependencies: @svc/engine@1.2.3 belongs to somebody else",
    ],
    [
      "a dependency in a folder",
      npmPackage({ manifest: { dependencies: { yaml: "file:../yaml" } } }),
      "dependencies: yaml@file:../yaml is not an exact version",
    ],
    [
      "a range",
      npmPackage({ manifest: { dependencies: { yaml: "^2.0.0" } } }),
      "dependencies: yaml@^2.0.0 is not an exact version",
    ],
    ["an install script", npmPackage({ manifest: { scripts: { postinstall: "node x" } } }), "postinstall"],
    ["a private package", npmPackage({ manifest: { private: true } }), "it is private"],
    ["development packages", npmPackage({ manifest: { devDependencies: {} } }), "only its development needs"],
    ["no README", npmPackage({ files: { "README.md": undefined } }), "it has no README"],
    ["no description", wheel({ metadata: METADATA.split("\n\n")[0] }), "it has no README"],
    [
      "a README with a foreign command",
      npmPackage({ files: { "README.md": "# svc\n\nnpx svc dev\n" } }),
      "README.md names a package that belongs to somebody else, line 3: npx svc dev",
    ],
    [
      "a README with a link out of the package",
      npmPackage({ files: { "README.md": "See the [guide](../../docs/guide.md)." } }),
      "README.md links to ../../docs/guide.md, which the package lacks",
    ],
    ["no licence file", npmPackage({ files: { LICENSE: undefined } }), "it has no LICENSE"],
    [
      "no licence file",
      wheel({ files: { "svc_runtime-1.2.3.dist-info/licenses/LICENSE": undefined } }),
      "it has no LICENSE",
    ],
    ["another licence", sdist({ LICENSE: "All rights reserved" }), "LICENSE differs from the repository's"],
    [
      "copies of packages without their licences",
      npmPackage({ bundled: ["react"] }),
      "it contains copies of other packages and has no THIRD-PARTY-NOTICES.md",
    ],
    [
      "a copy of a package without its licence",
      npmPackage({
        bundled: ["react", "react-dom"],
        files: { "THIRD-PARTY-NOTICES.md": "# Notices\n\n## react-dom 19.0.0 (MIT)\n" },
      }),
      "THIRD-PARTY-NOTICES.md lacks react",
    ],
    ["a file too few", npmPackage({ expected: ["package.json", "README.md", "LICENSE", "a.js"] }), "it lacks a.js"],
    ["a file too many", npmPackage({ expected: ["package.json", "README.md"] }), "it contains LICENSE, which"],
    ["a large download", npmPackage({ packedBytes: 1_001 }), "it has 2 kB packed, more than 1 kB"],
    ["large files", npmPackage({ files: { "a.js": "x".repeat(10_000) } }), "unpacked, more than 10 kB"],
    ["no limit", npmPackage({ name: "other", manifest: { name: "other" } }), "it has no size limit"],
  ])("finds %s", (_, broken, expected) => {
    expect(problemsOf(broken)).toEqual([expect.stringContaining(expected)]);
  });

  it("finds an sdist without metadata", () => {
    expect(problemsOf(sdist({ "PKG-INFO": undefined }))).toContain(
      "svc_runtime-1.2.3.tar.gz: its name is undefined, expected svc-runtime",
    );
  });
});
