import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./steps.mjs";

/** The names `svc` on npm and PyPI belong to others, so these commands would run foreign code. */
const FOREIGN = [
  /\bnpx (?:--yes )?svc\b(?!-)/,
  /\b(?:npm (?:install|i|add|exec|create)|pnpm (?:add|dlx)|yarn add|bun add)\b[^`\n]*\s["']?svc["']?(?=[\s`"'@]|$)/,
  /\b(?:pip3?|uv|poetry|pipx)\b (?:pip )?(?:install|add|run)\b[^`\n]*\s["']?svc["']?(?=[\s`"'=<>[~]|$)/,
  /^svc(?:\s*[=<>~]=|\[)/,
  /@svc\//,
];

/** Where users read or copy commands and names of packages. */
const READ_BY_USERS =
  /^(?:README\.md|docs\/.*\.(?:md|json)|deploy\/.*|packages\/[^/]+\/(?:README\.md|templates\/.*|src\/.*\.tsx?)|python\/README\.md|scripts\/[^/]*\.mjs)$/;

/** The guide to upgrading names the former packages, because projects may still use them. */
const NAMES_FORMER_PACKAGES = "docs/guide/upgrading.md";

it("no text for users names a package that belongs to somebody else", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((file) => READ_BY_USERS.test(file) && !/\.test\.[a-z]+$/.test(file) && file !== NAMES_FORMER_PACKAGES);
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, at) => (FOREIGN.some((pattern) => pattern.test(line)) ? [`${file}:${at + 1}: ${line}`] : [])),
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
    expect([text, FOREIGN.some((pattern) => pattern.test(text))]).toEqual([text, true]);
  for (const text of ["npx --no svc dev", "npm install ./sdk/svc-runtime-sdk-0.1.0.tgz", "svc create", "import svc"])
    expect([text, FOREIGN.some((pattern) => pattern.test(text))]).toEqual([text, false]);
});
