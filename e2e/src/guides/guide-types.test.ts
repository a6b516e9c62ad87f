// The programs of all guides, type-checked against the built SDK in one run of the compiler, since each run reads the
// same declarations again.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { programsOf, samplesOf } from "./samples.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-guide-types-"));
/** Paths of the programs, `<guide>/<sample>.mts`. */
const files: string[] = [];

beforeAll(() => {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  for (const guide of readdirSync(join(root, "docs/guide"))) {
    const programs = programsOf(samplesOf(readFileSync(join(root, "docs/guide", guide), "utf8")));
    if (programs.length > 0) mkdirSync(join(folder, guide));
    for (const { name, code } of programs) {
      files.push(`${guide}/${name}.mts`);
      writeFileSync(join(folder, guide, `${name}.mts`), code);
    }
  }
  const compilerOptions = {
    target: "ES2023",
    lib: ["ES2023"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    moduleDetection: "force",
    noEmit: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ["with the types of Node", []],
  // A project without `lib` has the types of a page, whose streams differ from Node's.
  ["with those of a page, too", ["--lib", "ES2023,DOM"]],
])("compile in strict mode, %s", async (_what, options) => {
  expect(files.length).toBeGreaterThan(30);
  const tsc = join(root, "node_modules/typescript-7/bin/tsc");
  const compiled = await promisify(execFile)(process.execPath, [tsc, "-p", folder, "--checkers", "1", ...options], {
    cwd: folder,
    timeout: 120_000,
  }).catch((error: unknown) => ({ stdout: (error as { stdout?: string }).stdout || String(error) }));
  expect(compiled.stdout).toBe("");
});
