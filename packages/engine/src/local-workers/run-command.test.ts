import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

it("starts nothing once it was called off", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-called-off-"));
  try {
    const run = await runCommand({
      command: ": > begun; sleep 5",
      cwd: folder,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      signal: AbortSignal.abort(),
      onLine: () => {},
    });
    expect(run).toEqual({
      end: { code: null, signal: null, problem: "was cancelled before it started" },
      lastLines: [],
    });
    expect(existsSync(join(folder, "begun"))).toBe(false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
