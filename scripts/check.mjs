// `npm run check`: everything that must hold before a commit, cheapest first; stops at the first failure.
import { spawnSync } from "node:child_process";

const bin = (name) => `node_modules/.bin/${name}`;
const steps = [
  ["lint and format", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["types", bin("tsc"), ["-b"]],
  ["import rules", bin("depcruise"), ["--config", ".dependency-cruiser.cjs", "packages", "bench", "e2e"]],
  ["dead code", bin("knip"), []],
  ["tests", process.execPath, ["scripts/test.mjs", "--no-install"]],
  ["generated files", process.execPath, ["scripts/generate.mjs", "--check"]],
];

for (const [title, command, args] of steps) {
  const startedMs = performance.now();
  process.stderr.write(`\n== ${title}\n`);
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) {
    process.stderr.write(`\ncheck failed at: ${title}${error === undefined ? "" : ` (${error.message})`}\n`);
    process.exit(1);
  }
  process.stderr.write(`== ${title}: ok, ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`);
}
