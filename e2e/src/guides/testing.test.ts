import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);
let guide: Guide;

beforeAll(async () => {
  guide = await openGuide("testing.md");
});
afterAll(() => guide?.close());

describe("the guide to testing", () => {
  it("has a test that passes under node:test (gap 76)", async () => {
    const { output } = await guide.finish("sessions");
    expect(output).toContain("a session ends after an hour, and not before");
  });

  it("has it pass with the packages as projects install them", async () => {
    const project = mkdtempSync(join(tmpdir(), "svc-packages-"));
    const modules = join(project, "node_modules");
    mkdirSync(join(modules, "@svc-runtime"), { recursive: true });
    // Packages that npm would download. svc's own come from their archives.
    for (const name of readdirSync(join(root, "node_modules")))
      if (name !== "@svc-runtime") symlinkSync(join(root, "node_modules", name), join(modules, name));
    for (const name of ["engine", "sdk"]) {
      const target = join(modules, "@svc-runtime", name);
      mkdirSync(target);
      await run("tar", [
        "xzf",
        join(root, `packages/cli/assets/svc-runtime-${name}-0.1.0.tgz`),
        "-C",
        target,
        "--strip-components=1",
      ]);
    }
    writeFileSync(join(project, "sessions.test.mjs"), readFileSync(join(guide.project, "sessions.mjs")));
    const { stdout } = await run(process.execPath, ["--test"], {
      cwd: project,
      timeout: 60_000,
      env: { PATH: process.env.PATH },
    });
    expect(stdout).toMatch(/pass 1\b/);
    rmSync(project, { recursive: true });
  });

  it("has run every sample", () => expect(guide.notRun()).toEqual([]));
});
