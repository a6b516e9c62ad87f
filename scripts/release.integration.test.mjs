import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./steps.mjs";

/** Runs the command without credentials, so that it can never publish. Resolves with its status and standard error. */
function release(args, variables = {}) {
  const { NODE_AUTH_TOKEN: _npm, TWINE_PASSWORD: _twine, npm_config_dry_run: _dry, ...inherited } = process.env;
  const env = { ...inherited, ...variables };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, "scripts/release.mjs"), ...args], { env }, (error, _stdout, stderr) =>
      resolve({ status: error?.code ?? 0, stderr }),
    );
  });
}

it("rejects an unknown flag and an argument with its usage", async () => {
  for (const argument of ["--dry", "0.2.0"]) {
    const { status, stderr } = await release([argument]);
    expect(status).toBe(2);
    expect(stderr).toContain(`'${argument}'`);
    expect(stderr).toContain("Usage: npm run release -- --dry-run\n");
  }
});

it("rejects --dry-run before --, which npm does not pass on", async () => {
  const { status, stderr } = await release([], { npm_config_dry_run: "true" });
  expect(status).toBe(2);
  expect(stderr).toContain("Write -- before it: npm run release -- --dry-run\n");
});

it("names all that is missing before it builds anything", async () => {
  const { status, stderr } = await release([]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/Version [\d.]+ cannot be published:\n {2}- /);
  expect(stderr).toContain("NODE_AUTH_TOKEN is not set.");
  expect(stderr).toContain("TWINE_PASSWORD is not set.");
  expect(stderr).not.toContain("[1/");
});
