// `npm test`: installs what the tests need and runs all of them: TypeScript, Python, the published clients with this
// engine, whole processes, and the console in a browser. Plain Node without dependencies.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { installNatsServer } from "./nats-server.mjs";
import { installNodeVersions, NODE_VERSIONS, nodeProgram, testsForNodeVersions } from "./node-versions.mjs";
import { withCertificatesForNpm } from "./npm-certificates.mjs";
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
import { interruptSignal, reportFailure, root, startInBackground, stepRunner } from "./steps.mjs";
import { failureLines, pytestFailures, vitestFailures } from "./test-report.mjs";
import { builtFile, selectTests, UNIT } from "./test-selection.mjs";
import { installToolchains } from "./toolchains.mjs";

const USAGE = `Usage: npm test -- [options] [pattern ...]

Runs all tests, or those of the files whose path contains a pattern. Without such a file, runs the tests whose name contains the pattern.

  -t, --name <text>  run only tests whose name contains the text
  --node-versions    run only the unit tests of the engine and the SDK on later versions of Node
                     (npm run test:node-versions), and the integration tests of store, transport and SDK; a run of
                     all tests includes those of store, transport and SDK, except slow ones of replicas
  --unit             run only tests without processes, disk or real time (npm run test:unit)
  --no-install       skip the installation steps
  --help             print this`;

/** Steps that install programs, with the test projects that need them. */
const PROGRAMS = [
  ["Looking for Redis", installRedis, ["integration", "e2e"]],
  ["Looking for a NATS server", installNatsServer, ["integration", "e2e"]],
  ["Looking for shells", installShells, ["integration"]],
  ["Installing the published Python clients", installPublishedPython, ["compat"]],
  ["Looking for a browser", installBrowser, ["e2e", "console"]],
  ["Looking for a terminal", installTmux, ["e2e"]],
  ["Looking for systemd", installSystemd, ["e2e"]],
  ["Installing the toolchains of workers", installToolchains, ["e2e"]],
];
/** The projects that need each of the built parts. */
const BUNDLED = ["integration", "compat", "e2e", "console", "pytest"];
const WITH_PAGE = ["integration", "e2e", "console"];
const PACKED = ["integration", "e2e"];
/** Projects with tests in Python, or with workers in Python. */
const PYTHON = ["pytest", "integration", "e2e"];
/**
 * Tests install workers of every kind from the registries. A single failed request must not fail the run, and packages
 * are downloaded only once.
 */
const INSTALLERS = {
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  npm_config_fetch_retries: "5",
  npm_config_fetch_retry_factor: "2",
  npm_config_fetch_retry_mintimeout: "1000",
  PIP_RETRIES: "10",
  UV_HTTP_RETRIES: "10",
  CARGO_NET_RETRY: "10",
};
const NO_TESTS = { passed: 0, failures: [] };
/** Reports of the runners, and logs and screenshots of failed tests. */
const results = join(root, "test-results");

process.exitCode = await main();

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const signal = interruptSignal();
  const startedMs = performance.now();
  let others;
  let page;
  /** Ends the test runner in the background, if another step fails. */
  const early = new AbortController();
  try {
    const { selection, programs, onOtherNodes } = await planOf(options);
    const needs = (projects) => projects.some((project) => selection.projects.includes(project));
    const needsPython = needs(PYTHON);
    const total =
      (options["no-install"] ? 1 : 3) + [PYTHON, BUNDLED, PACKED, WITH_PAGE].filter(needs).length + programs.length;
    const { step } = stepRunner({ total, signal });
    if (!options["no-install"]) await step("Checking Node and Python", checkTools);
    // These steps wait for the network most of the time, while the steps below use the CPU.
    others = startInBackground(
      [...(needsPython ? [installPythonTools] : []), ...programs.map(([, install]) => install)],
      { signal },
    );
    const installed = [...others.awaited];
    const pythonTools = needsPython ? installed.shift() : undefined;
    if (!options["no-install"]) await step("Installing packages", installPackages);
    await rm(results, { recursive: true, force: true });
    await mkdir(results, { recursive: true });
    const env = await withCertificatesForNpm({ ...INSTALLERS, ...process.env }, join(results, "certificates.pem"));
    // `npm run check` checks the types, which takes as long as compiling.
    await step("Building", (context) => build(context, ".", ["--noCheck"]));
    const { unit, integration, rest } = splitSelection(selection);
    // The unit tests need nothing more. They use the time in which the steps below wait for the network.
    const background = { env, signal: AbortSignal.any([signal, early.signal]), isInBackground: true };
    const unitTests = unit && runVitest(unit, { report: "vitest-unit", ...background });
    if (needs(WITH_PAGE)) page = startInBackground([buildConsolePage], { signal });
    if (needs(BUNDLED)) await step("Bundling svc", bundleCli);
    const python = pythonTools && (await step("Installing the Python tools", pythonTools));
    for (const [at, [title]] of programs.entries()) await step(title, installed[at]);
    if (needs(PACKED)) await step("Packing the SDKs", packSdks);
    if (page !== undefined) await step("Building the console's page", page.awaited[0]);

    // Integration tests need little processor time, so they run beside the tests in a browser. They start when the unit
    // tests have ended.
    const inBackground = async () => {
      const reports = [(await unitTests) ?? NO_TESTS];
      if (integration) {
        signal.throwIfAborted();
        reports.push(await runVitest(integration, { report: "vitest-integration", ...background }));
      }
      for (const { version, files } of onOtherNodes) {
        signal.throwIfAborted();
        reports.push(await runOnNode(version, files, { env, signal }));
      }
      return reports;
    };
    const reports = await Promise.all([
      runVitest(rest, { report: "vitest", env, signal }),
      needs(["pytest"]) ? runPytest(python, selection, { env, signal }) : NO_TESTS,
      inBackground(),
    ]).then((each) => each.flat());
    signal.throwIfAborted();
    const failures = reports.flatMap((report) => report.failures);
    const passed = reports.reduce((sum, report) => sum + report.passed, 0);
    for (const line of ["", ...failureLines(failures)]) console.log(line);
    if (failures.length > 0)
      console.log(`\nLogs and screenshots of failed tests: ${relative(process.cwd(), results) || "."}/`);
    console.log(`\nDuration: ${minutes(performance.now() - startedMs)}`);
    if (passed + failures.length === 0) console.log("No test matches.");
    console.log(`${passed} passed, ${failures.length} failed`);
    return failures.length === 0 && passed > 0 ? 0 : 1;
  } catch (error) {
    return reportFailure(error);
  } finally {
    early.abort();
    await Promise.all([others?.end(), page?.end()]);
  }
}

/**
 * Splits a selection into unit tests and integration tests, which run in the background, and other tests. Each of the
 * first two is undefined if it would be empty, or if nothing would be left for the foreground.
 */
function splitSelection(selection) {
  let left = selection.projects;
  const take = (projects) => {
    const taken = left.filter((project) => projects.includes(project));
    if (taken.length === 0 || taken.length === left.length) return undefined;
    left = left.filter((project) => !taken.includes(project));
    return { ...selection, projects: taken };
  };
  const unit = take(UNIT);
  const integration = take(["integration"]);
  return { unit, integration, rest: { ...selection, projects: left } };
}

/** Resolves with the tests to run, also on other versions of Node, and the programs to install. */
async function planOf(options) {
  const { patterns, name, unit } = options;
  const selection = options["node-versions"]
    ? { projects: [], files: [], name: undefined }
    : await selectTests({ patterns, name, unitOnly: unit });
  const isComplete = patterns.length === 0 && name === undefined && !unit;
  const needed = PROGRAMS.filter(([, , projects]) => projects.some((each) => selection.projects.includes(each)));
  if (isComplete) needed.push(["Installing other versions of Node", installNodeVersions]);
  const files = await testsForNodeVersions({ isExtended: options["node-versions"] });
  return {
    selection,
    programs: options["no-install"] ? [] : needed,
    onOtherNodes: isComplete ? NODE_VERSIONS.map((version) => ({ version, files })) : [],
  };
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string", short: "t" },
        "node-versions": { type: "boolean", default: false },
        unit: { type: "boolean", default: false },
        "no-install": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    return { ...values, patterns: positionals };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return undefined;
  }
}

/**
 * Runs the selected TypeScript tests. All projects of the selection share the test runner's workers, so that no core
 * waits for a project to end. Writes the report `test-results/<report>.json`. The signal ends it. In the background, it
 * prints its output at its end, in one piece.
 */
async function runVitest({ projects, files, name }, { report: reportName, env, signal, isInBackground = false }) {
  const own = projects.filter((project) => project !== "pytest");
  if (own.length === 0) return NO_TESTS;
  const report = join(results, `${reportName}.json`);
  const args = [
    "run",
    ...own.flatMap((project) => ["--project", project]),
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    "--passWithNoTests",
    ...(name === undefined ? [] : ["--testNamePattern", escaped(name)]),
    ...files.filter((file) => !file.endsWith(".py")).map(builtFile),
  ];
  const { code, output } = await run(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], {
    env,
    stdio: isInBackground ? "pipe" : "inherit",
    signal,
  });
  if (isInBackground) console.log(`\n${own.join(", ")}:\n${output}`);
  const content = await readFile(report, "utf8").then(JSON.parse, () => ({}));
  return outcome(own.join(", "), code, content.numPassedTests ?? 0, vitestFailures(content));
}

/** Runs test files on another version of Node. */
async function runOnNode(version, files, { env, signal }) {
  const title = `Node ${version}`;
  const report = join(results, `vitest-node-${version}.json`);
  const vitest = [
    "run",
    "--project",
    "unit",
    "--project",
    "integration",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ];
  const { code } = await run(
    nodeProgram(version),
    [join(root, "node_modules/vitest/vitest.mjs"), ...vitest, ...files],
    { env, signal, stdio: "inherit" },
  );
  const content = await readFile(report, "utf8").then(JSON.parse, () => ({}));
  console.log(`\n${title}: ${content.numPassedTests ?? 0} passed, ${content.numFailedTests ?? 0} failed`);
  const command = "npm run test:node-versions";
  const failures = vitestFailures(content).map((failure) => ({
    ...failure,
    test: `${title}: ${failure.test}`,
    command,
  }));
  return outcome(title, code, content.numPassedTests ?? 0, failures);
}

/** Runs the selected Python tests. Prints their output at their end, in one piece. */
async function runPytest(python, { files, name }, { env, signal }) {
  const report = join(results, "pytest.xml");
  const own = files.filter((file) => file.endsWith(".py")).map((file) => join(root, file));
  const args = [
    "-m",
    "pytest",
    "--quiet",
    `--junit-xml=${report}`,
    ...(name === undefined ? [] : ["-k", name]),
    ...own,
  ];
  const { code, output } = await run(python, args, { cwd: join(root, "python"), env, signal, stdio: "pipe" });
  console.log(`\npytest:\n${output}`);
  const xml = await readFile(report, "utf8").catch(() => "");
  const number = (key) => Number(new RegExp(`<testsuite[^>]*\\b${key}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const passed = number("tests") - number("failures") - number("errors") - number("skipped");
  // Status 5: no test was selected.
  return outcome("pytest", code === 5 && name !== undefined ? 0 : code, passed, pytestFailures(xml));
}

function outcome(runner, code, passed, failures) {
  // A failure outside of any test, such as an unhandled rejection or a crash of the runner.
  const ofRunner =
    code !== 0 && failures.length === 0
      ? [{ test: runner, message: `exited with status ${code}; see its output above` }]
      : [];
  return { passed, failures: [...failures, ...ofRunner] };
}

async function run(command, args, { cwd = root, env, stdio, signal }) {
  const child = spawn(command, args, { cwd, env, signal, stdio: ["ignore", stdio, stdio] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const [code] = await once(child, "close").catch((error) => [error.message]);
  return { code, output };
}

/** Returns a regular expression that matches exactly this text. */
function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function minutes(ms) {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
