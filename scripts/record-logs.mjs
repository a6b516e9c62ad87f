// `node scripts/record-logs.mjs`: records the logs that the tests of replicated stores write, with the hashes of what their
// replicas contain, in packages/engine/vectors/logs/VERSION.jsonl.gz. Later versions must make the same of them:
// packages/engine/src/store/replicated/recorded-logs.test.ts. Run it before a release, and after a procedure was added;
// files of released versions stay. `--replace` records the present version again, which is right only if no engine of it
// is in use.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "./setup.mjs";
import { interruptSignal, reportFailure, root, runCommand, StepFailure, stepRunner } from "./steps.mjs";

/** Tests whose stores are replicas of logs in memory. */
const TESTS = [
  ...["queue/store/replicated.test", "start-queue-core.test", "cron/store/replicated.test"],
  ...["items/adapters/replicated.integration", "items/adapters/shared-watchers", "cluster/three-engines"],
  ...["engine/dist/cluster/queue.test", "engine/dist/cluster/cron.test", "cluster/state-triggers"],
];
/** Compressed. A file that is larger does not belong into the repository. */
const MAX_BYTES = 200_000;

process.exitCode = await main();

async function main() {
  const signal = interruptSignal();
  const draft = mkdtempSync(join(tmpdir(), "svc-record-"));
  try {
    const { step } = stepRunner({ total: 2, signal });
    await step("Building", build);
    await step("Recording", (context) => record(join(draft, "logs.jsonl"), context));
    return 0;
  } catch (error) {
    return reportFailure(error);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function record(draft, { signal, outcome }) {
  const { version } = JSON.parse(readFileSync(join(root, "packages/engine/package.json"), "utf8"));
  const folder = join(root, "packages/engine/vectors/logs");
  const file = join(folder, `${version}.jsonl.gz`);
  if (existsSync(file) && !process.argv.includes("--replace"))
    throw new StepFailure(`${file} is there already`, {
      fix: "raise the version first, or use --replace if no engine of this version is in use.",
    });
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "unit", "--project", "integration"];
  await runCommand(process.execPath, [...args, ...TESTS], {
    signal,
    timeoutMs: 600_000,
    env: { ...process.env, SVC_RECORD_LOGS: draft },
    fix: "correct the tests that fail, then run the command again.",
  });
  const lines = readFileSync(draft, "utf8").trim().split("\n").sort();
  const compressed = gzipSync(`${lines.join("\n")}\n`, { level: 9 });
  if (compressed.length > MAX_BYTES)
    throw new StepFailure(`the recorded logs have ${compressed.length} bytes, more than ${MAX_BYTES}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, compressed);
  outcome(`${lines.length} logs, ${compressed.length} bytes`);
}
