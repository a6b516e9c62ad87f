// npm run bench: builds what the bench needs and runs it. Options are passed on; see npm run bench -- --help.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildConsolePage, bundleCli } from "./setup.mjs";
import { interruptSignal, reportFailure } from "./steps.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiler = fileURLToPath(new URL("../node_modules/typescript-7/bin/tsc", import.meta.url));

function runNode(args) {
  const { status, signal, error } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (error !== undefined) throw error;
  return signal === null ? status : 1;
}

if (!existsSync(compiler)) {
  console.error("The compiler is not installed. Run: npm install");
  process.exit(1);
}
const built = runNode([compiler, "-b", "packages/cli", "bench"]);
if (built !== 0) {
  console.error("The build failed; the messages above say where. The bench did not run.");
  process.exit(built);
}
try {
  await bundleCli({ outcome: (text) => console.error(`Bundling svc: ${text}`) });
  await buildConsolePage({
    signal: interruptSignal(),
    outcome: (text) => console.error(`Building the console's page: ${text}`),
  });
} catch (error) {
  process.exit(reportFailure(error));
}
process.exit(runNode(["bench/dist/main.js", ...process.argv.slice(2)]));
