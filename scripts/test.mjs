// `npm test`: installs what the tests need and runs all of them: TypeScript units, Python, the
// published clients against our engine, the end-to-end tests with real processes, and the console in a browser.
// Options: --no-install (everything is there already), --unit (leave out the end-to-end tests). Plain Node without dependencies.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packSdks } from "./pack-sdks.mjs";
import { installPublishedPython } from "./published-clients.mjs";
import {
  build,
  buildConsolePage,
  bundleCli,
  checkTools,
  installBrowser,
  installPackages,
  installPythonTools,
  installRedis,
  installShells,
  installSystemd,
  installTmux,
} from "./setup.mjs";
import { beside, interruptSignal, reportFailure, root, stepRunner } from "./steps.mjs";
import { failureLines, pytestFailures, vitestFailures } from "./test-report.mjs";
import { installToolchains } from "./toolchains.mjs";

/** What each step installs, and whether the unit tests need it, too. */
const PROGRAMS = [
  ["Looking for Redis", installRedis, true],
  ["Looking for shells", installShells, true],
  ["Installing the published Python client", installPublishedPython, false],
  ["Looking for a browser", installBrowser, false],
  ["Looking for a terminal", installTmux, false],
  ["Looking for systemd", installSystemd, false],
  ["Installing the toolchains of workers", installToolchains, false],
];
/** Tests install workers of every kind from the registries: one request that fails is not to fail the run. */
const PATIENT = {
  npm_config_fetch_retries: "5",
  npm_config_fetch_retry_factor: "2",
  npm_config_fetch_retry_mintimeout: "1000",
  PIP_RETRIES: "10",
  UV_HTTP_RETRIES: "10",
  CARGO_NET_RETRY: "10",
};
const isQuick = process.argv.includes("--unit");
const isInstalled = process.argv.includes("--no-install");
process.exitCode = await main();

async function main() {
  const signal = interruptSignal();
  const reports = await mkdtemp(join(tmpdir(), "svc-tests-"));
  const programs = PROGRAMS.filter(([, , isForUnits]) => isForUnits || !isQuick);
  let others;
  try {
    const { step } = stepRunner({ total: (isInstalled ? 5 : 7) + programs.length, signal });
    if (!isInstalled) {
      await step("Checking Node and Python", checkTools);
      await step("Installing packages", installPackages);
    }
    // They wait for the network most of the time, and building for the processor.
    others = beside([installPythonTools, ...programs.map(([, install]) => install)], { signal });
    const [pythonTools, ...installed] = others.awaited;
    await step("Building", build);
    await step("Bundling svc", bundleCli);
    await step("Building the console's page", buildConsolePage);
    const python = await step("Installing the Python tools", pythonTools);
    for (const [at, [title]] of programs.entries()) await step(title, installed[at]);
    await step("Packing the SDKs", packSdks);

    const result = { passed: 0, failures: [] };
    await runVitest("unit", reports, result);
    await runPytest(python, reports, result);
    if (!isQuick) {
      await runVitest("compat", reports, result);
      await runVitest("e2e", reports, result);
      await runVitest("alone", reports, result);
      await runVitest("console", reports, result);
    }
    for (const line of ["", ...failureLines(result.failures)]) console.log(line);
    const failed = result.failures.length;
    console.log(`\n${result.passed} passed, ${failed} failed`);
    return failed === 0 && result.passed > 0 ? 0 : 1;
  } catch (error) {
    return reportFailure(error);
  } finally {
    await others?.end();
    await rm(reports, { recursive: true, force: true });
  }
}

async function runVitest(project, reports, result) {
  const report = join(reports, `${project}.json`);
  const args = ["run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const code = await run(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args]);
  const { numPassedTests = 0, testResults } = await readJson(report);
  add(result, project, code, numPassedTests, vitestFailures(project, { testResults }));
}

async function runPytest(python, reports, result) {
  const report = join(reports, "pytest.xml");
  const code = await run(python, ["-m", "pytest", "--quiet", `--junit-xml=${report}`], join(root, "python"));
  const xml = await readFile(report, "utf8").catch(() => "");
  const number = (name) => Number(new RegExp(`<testsuite[^>]*\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  add(result, "pytest", code, number("tests") - number("failures") - number("errors") - number("skipped"), pytestFailures(xml));
}

function add(result, runner, code, passed, failures) {
  result.passed += passed;
  result.failures.push(...failures);
  // What belongs to no test, as a promise that nobody awaited, or a runner that died.
  if (code !== 0 && failures.length === 0) result.failures.push({ test: runner, message: `ended with status ${code}; its own output above says why` });
}

async function run(command, args, cwd = root) {
  const child = spawn(command, args, { cwd, env: { ...PATIENT, ...process.env }, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "close");
  return code;
}

async function readJson(file) {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return {};
  }
}
