import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { foreignLines } from "./foreign-names.mjs";
import { root } from "./steps.mjs";

/** Where users read or copy commands and names of packages. */
const READ_BY_USERS =
  /^(?:README\.md|docs\/.*\.(?:md|json)|deploy\/.*|packages\/[^/]+\/(?:README\.md|templates\/.*|src\/.*\.tsx?)|python\/README\.md|scripts\/(?!foreign-names)[^/]*\.mjs)$/;

/** The guide to upgrading names the former packages, because projects may still use them. */
const NAMES_FORMER_PACKAGES = "docs/guide/upgrading.md";

it("no text for users names a package that belongs to somebody else", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((file) => READ_BY_USERS.test(file) && !/\.test\.[a-z]+$/.test(file) && file !== NAMES_FORMER_PACKAGES);
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    foreignLines(readFileSync(join(root, file), "utf8")).map((line) => `${file}:${line}`),
  );
  expect(found).toEqual([]);
});

it("finds the foreign forms", () => {
  for (const text of [
    "npx svc dev",
    "npm install svc",
    "npm i -g svc@1",
    "pip install svc",
    "pip install 'svc'",
    "uv pip install --upgrade svc==1",
    "svc==0.1.0",
    'import { connect } from "@svc/sdk"',
  ])
    expect(foreignLines(text)).toEqual([`1: ${text}`]);
  for (const text of ["npx --no svc dev", "npm install ./sdk/svc-runtime-sdk-0.1.0.tgz", "svc create", "import svc"])
    expect(foreignLines(text)).toEqual([]);
});
