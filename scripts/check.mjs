// `npm run check`: all checks except the tests. Installs what it needs, runs independent steps two at a time and
// reports all failures. `npm run check -- --all` runs `npm test` afterwards. Plain Node without dependencies: it runs
// before `npm install`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { commandStep, runParallel, seconds, stepTable } from "./parallel-steps.mjs";
import { checkTools, compile, installPackages, installPythonTools } from "./setup.mjs";
import { interruptSignal, reportFailure, root } from "./steps.mjs";

const USAGE = `Usage: npm run check -- [options]

  --all   run all tests after the checks (npm test)
  --help  print this`;
/** Maximum concurrent steps. Most use one core, and the machines that run the checks have two. */
const LIMIT = 2;

const PACKAGES = "packages";
const PYTHON_TOOLS = "Python tools";
const TYPES = "types";

const bin = (name) => join(root, "node_modules/.bin", name);
const python = (name) => join(root, ".venv/bin", name);
const script = (...args) => commandStep(process.execPath, args, { cwd: root });

/** Steps in the order in which they start: first those that others need, then the longest. */
const STEPS = [
  { title: "Node and Python", run: (context) => checkTools(context) },
  { title: PACKAGES, needs: ["Node and Python"], run: installing(installPackages) },
  { title: PYTHON_TOOLS, needs: ["Node and Python"], run: installing(installPythonTools) },
  { title: TYPES, needs: [PACKAGES], run: script(...compile) },
  { title: "Python types", needs: [PYTHON_TOOLS], run: commandStep(python("mypy"), [], { cwd: join(root, "python") }) },
  {
    title: "Python lint",
    needs: [PYTHON_TOOLS],
    run: commandStep(python("ruff"), ["check", "."], { cwd: join(root, "python") }),
  },
  {
    title: "Python format",
    needs: [PYTHON_TOOLS],
    run: commandStep(python("ruff"), ["format", "--check", "."], { cwd: join(root, "python") }),
  },
  {
    title: "lint and format",
    needs: [PACKAGES],
    run: commandStep(bin("biome"), ["check", "--error-on-warnings", "."], { cwd: root }),
  },
  {
    title: "import rules",
    needs: [PACKAGES],
    run: commandStep(bin("depcruise"), ["--config", ".dependency-cruiser.cjs", "packages", "bench", "e2e"], {
      cwd: root,
    }),
  },
  { title: "dead code", needs: [PACKAGES], run: commandStep(bin("knip"), [], { cwd: root }) },
  { title: "lock files", run: script("scripts/check-lock.mjs") },
  { title: "licences", needs: [PACKAGES, PYTHON_TOOLS], run: script("scripts/check-licences.mjs") },
  { title: "vulnerabilities", needs: [PACKAGES], run: script("scripts/check-audit.mjs") },
  { title: "generated files", needs: [TYPES], run: script("scripts/generate.mjs", "--check") },
];

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.help) {
    console.error(USAGE);
    return 0;
  }
  const startedMs = performance.now();
  try {
    const results = await runParallel(STEPS, { limit: LIMIT, signal: interruptSignal() });
    if (options.all) results.push(await runTests(failedTitles(results)));
    const total = seconds(performance.now() - startedMs);
    const failed = failedTitles(results);
    const verdict =
      failed.length === 0
        ? `check passed in ${total}`
        : `check failed in ${total}: ${failed.join(", ")}; the output is above`;
    process.stderr.write(`\n${stepTable(results).join("\n")}\n\n${verdict}\n`);
    return failed.length === 0 ? 0 : 1;
  } catch (error) {
    return reportFailure(error);
  }
}

function failedTitles(results) {
  return results.filter(({ state }) => state === "failed").map(({ title }) => title);
}

function readOptions(args) {
  try {
    return parseArgs({
      args,
      options: { all: { type: "boolean", default: false }, help: { type: "boolean", short: "h" } },
    }).values;
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return undefined;
  }
}

/** Adapts an installation of setup.mjs to a step. */
function installing(install) {
  return async ({ signal, write }) => {
    await install({ signal, note: (line) => write(`${line}\n`), outcome: (text) => write(`${text}\n`) });
  };
}

/** Runs `npm test` and prints its output immediately, since it takes minutes. Skips it if a check failed. */
async function runTests(failed) {
  if (failed.length > 0) return { title: "tests", state: "skipped", ms: 0, reason: `${failed.join(", ")} failed` };
  const startedMs = performance.now();
  const child = spawn(process.execPath, [join(root, "scripts/test.mjs")], { cwd: root, stdio: "inherit" });
  const [code] = await once(child, "close");
  return { title: "tests", state: code === 0 ? "passed" : "failed", ms: performance.now() - startedMs };
}
