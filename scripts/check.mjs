// `npm run check`: everything that must hold before a commit, cheapest first; stops at the first failure.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./steps.mjs";

const bin = (name) => join(root, "node_modules/.bin", name);
const python = (name) => join(root, ".venv/bin", name);

if (!existsSync(bin("biome")) || !existsSync(python("ruff"))) {
  process.stderr.write("The tools are not installed yet. `npm test` installs them; run it once first.\n");
  process.exit(1);
}

const steps = [
  ["lint and format", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["types", bin("tsc"), ["-b"]],
  ["import rules", bin("depcruise"), ["--config", ".dependency-cruiser.cjs", "packages", "bench", "e2e"]],
  ["dead code", bin("knip"), []],
  ["Python lint", python("ruff"), ["check", "."], "python"],
  ["Python format", python("ruff"), ["format", "--check", "."], "python"],
  ["Python types", python("mypy"), [], "python"],
  ["tests", process.execPath, ["scripts/test.mjs", "--no-install"]],
  ["generated files", process.execPath, ["scripts/generate.mjs", "--check"]],
];

for (const [title, command, args, folder = "."] of steps) {
  const startedMs = performance.now();
  process.stderr.write(`\n== ${title}\n`);
  const { status, error } = spawnSync(command, args, { cwd: join(root, folder), stdio: "inherit" });
  if (status !== 0) {
    process.stderr.write(`\ncheck failed at: ${title}${error === undefined ? "" : ` (${error.message})`}\n`);
    process.exit(1);
  }
  process.stderr.write(`== ${title}: ok, ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`);
}
