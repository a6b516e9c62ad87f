// `npm start`: from a fresh clone to a running quickstart with its console. Options: --once, --directory DIR,
// --bridge-port, --http-port, --ws-port, --console-port. Plain Node without dependencies: it runs before `npm install`.
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { packedHash, packSdks } from "./pack-sdks.mjs";
import { build, buildConsolePage, bundleCli, checkTools, installPackages } from "./setup.mjs";
import { interruptSignal, reportFailure, root, runCommand, StepFailure, startCommand, stepRunner } from "./steps.mjs";

const WORKERS = ["math-worker", "caller-worker"];
const FUNCTION_ID = "math::add_two_numbers";
const PAYLOAD = '{"a":10,"b":20}';
const START_TIMEOUT_MS = 60_000;
const WORKER_TIMEOUT_MS = 600_000;

const svcBin = join(root, "packages/cli/bin/svc.js");

const usage = `Usage: npm start -- [options]

  --once                 end after the first call instead of staying up; without the console
  --directory <dir>      folder of the quickstart project (default: quickstart)
  --bridge-port <port>   port for workers (default: 49134)
  --http-port <port>     port of the HTTP API (default: 3111)
  --ws-port <port>       port of the real-time WebSocket (default: 3112)
  --console-port <port>  port of the console (default: 3113)
  --help                 print this`;

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.help) {
    console.error(usage);
    return 0;
  }
  const signal = interruptSignal();
  let engine;
  let browserConsole;
  try {
    const { step } = stepRunner({ total: options.once ? 9 : 11, signal });
    await step("Checking Node and Python", checkTools);
    await step("Installing packages", installPackages);
    await step("Building", (context) => build(context, "packages/cli"));
    await step("Bundling svc", bundleCli);
    if (!options.once) await step("Building the console's page", buildConsolePage);
    await step("Packing the SDKs", packSdks);
    const project = await step(`Creating the project in ${options.directory}`, (context) =>
      createProject(options, context),
    );
    await step("Starting the engine", (context) => {
      engine = startEngine(project, options);
      return engine.ready(context.signal);
    });
    await step("Starting the workers", (context) => startWorkers(project, engine, context));
    if (!options.once) {
      await step("Starting the console", (context) => {
        browserConsole = startConsole(project, options);
        return browserConsole.ready(context.signal);
      });
    }
    const result = await step(`Calling ${FUNCTION_ID}`, (context) => callOnce(project, engine, context));
    process.stdout.write(`${result}\n`);
    if (options.once) return 0;
    printNextSteps(project, engine, browserConsole.address);
    await openInBrowser(browserConsole.address);
    void browserConsole.reportEnd(signal);
    await engine.follow(signal);
    return 0;
  } catch (error) {
    // Ctrl-C is the normal end while it runs. During the steps it is a failure.
    return signal.aborted && engine?.serving ? 0 : reportFailure(error);
  } finally {
    await Promise.all([browserConsole?.stop(), engine?.stop()]);
  }
}

function readOptions(args) {
  const port = { type: "string" };
  try {
    const { values } = parseArgs({
      args,
      options: {
        once: { type: "boolean", default: false },
        directory: { type: "string", default: "quickstart" },
        "bridge-port": port,
        "http-port": port,
        "ws-port": port,
        "console-port": port,
        help: { type: "boolean", short: "h" },
      },
    });
    return values;
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    return undefined;
  }
}

/** Creates the project, or uses the existing one. */
async function createProject(options, { signal, outcome }) {
  const dir = resolve(root, options.directory);
  const { stdout } = await svc(["create", "--template", "quickstart", "--directory", dir, "--json"], {
    signal,
    cwd: root,
    fix: "choose another folder: npm start -- --directory DIR",
  });
  if (JSON.parse(stdout).reused) outcome("it exists already");
  return { dir };
}

/** Runs a command of svc and waits for its end. */
function svc(args, options) {
  return runCommand(process.execPath, [svcBin, ...args], { ...options, env: quietEnvironment() });
}

/**
 * Returns an environment without an address of another engine, and without colours, since output is shown line by line.
 */
function quietEnvironment() {
  const { SVC_URL: _, ...env } = process.env;
  return { ...env, NO_COLOR: "1" };
}

/**
 * Starts the engine as a child process. It stops with this process, however this ends: its standard input is a pipe of
 * this process.
 */
function startEngine(project, options) {
  const ports = ["bridge-port", "http-port", "ws-port"].flatMap((name) =>
    options[name] === undefined ? [] : [`--${name}`, options[name]],
  );
  let announce;
  const announced = new Promise((settle) => {
    announce = settle;
  });
  let show;
  const child = startCommand(
    process.execPath,
    [
      svcBin,
      "--config",
      join(project.dir, "config.yaml"),
      "--log",
      "json",
      "--log-level",
      "info",
      "--stop-with-stdin",
      ...ports,
    ],
    {
      cwd: project.dir,
      env: quietEnvironment(),
      stdin: "pipe",
      onLine: (line) => {
        const record = parseLogLine(line);
        if (record?.message === "the engine is up") announce(record);
        show?.(line, record);
      },
    },
  );
  const engine = {
    addresses: undefined,
    /** Everything runs: from now on Ctrl-C is the normal end. */
    serving: false,
    async ready(signal) {
      const winner = await Promise.race([
        announced,
        child.ended.then(() => undefined),
        timeLimit(START_TIMEOUT_MS, signal),
      ]);
      if (winner === undefined)
        throw new StepFailure("the engine ended during its start", {
          output: child.lastLines().map(logLineForPeople),
          fix: "the output above says what to do. With other ports: npm start -- --bridge-port 49135 --http-port 3121 --ws-port 3122",
        });
      engine.addresses = { bridge: winner.bridge, http: winner.http, realtime: winner.realtime };
    },
    /** Prints the engine's log until the signal aborts. Rejects if the engine ends first. */
    async follow(signal) {
      engine.serving = true;
      show = (line) => process.stderr.write(`${logLineForPeople(line)}\n`);
      const interrupted = new Promise((settle) => signal.addEventListener("abort", () => settle("interrupted")));
      const what = signal.aborted ? "interrupted" : await Promise.race([interrupted, child.ended]);
      if (what !== "interrupted")
        throw new StepFailure(`the engine ended unexpectedly (status ${what.code})`, {
          output: child.lastLines().map(logLineForPeople),
        });
      process.stderr.write("\nStopping …\n");
    },
    stop: () => child.stop(),
    lastLines: () => child.lastLines().map(logLineForPeople),
  };
  return engine;
}

/** Starts the console as a child process, as the engine. It finds the engine by the project's folder. */
function startConsole(project, options) {
  const port = options["console-port"] === undefined ? [] : ["--port", options["console-port"]];
  let announce;
  const announced = new Promise((settle) => {
    announce = settle;
  });
  const child = startCommand(
    process.execPath,
    [svcBin, "console", "--config", join(project.dir, "config.yaml"), "--no-open", "--stop-with-stdin", ...port],
    {
      cwd: project.dir,
      env: quietEnvironment(),
      stdin: "pipe",
      onLine: (line) => {
        const address = /^The console is at (\S+)$/.exec(line)?.[1];
        if (address !== undefined) announce(address);
      },
    },
  );
  let isStopping = false;
  const running = {
    address: undefined,
    async ready(signal) {
      running.address = await Promise.race([
        announced,
        child.ended.then(() => undefined),
        timeLimit(START_TIMEOUT_MS, signal),
      ]);
      if (running.address !== undefined) return;
      throw new StepFailure("the console ended during its start", {
        output: child.lastLines(),
        fix: "with another port: npm start -- --console-port 3123",
      });
    },
    /** Prints a message if the console ends unexpectedly. The engine continues without it. */
    async reportEnd(signal) {
      const { code } = await child.ended;
      if (signal.aborted || isStopping) return;
      const lines = child.lastLines().slice(-5);
      process.stderr.write(
        `The console ended unexpectedly (status ${code}); start it again with: npx --no svc console\n${lines.map((line) => `  | ${line}\n`).join("")}`,
      );
    },
    stop() {
      isStopping = true;
      return child.stop();
    },
  };
  return running;
}

/** Rejects after `ms` milliseconds, or when the signal aborts. */
function timeLimit(ms, signal) {
  return new Promise((_, fail) => {
    const timer = setTimeout(() => fail(new StepFailure(`timed out after ${ms / 1000} s`)), ms);
    timer.unref();
    signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
}

function parseLogLine(line) {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function logLineForPeople(line) {
  const record = parseLogLine(line);
  if (record === undefined) return line;
  const { time, level, message, ...fields } = record;
  const facts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return [String(time).slice(11, 23), String(level).padEnd(5), message, ...facts].join(" ");
}

async function startWorkers(project, engine, { signal, note }) {
  const url = engine.addresses.bridge;
  const { stdout } = await svc(["worker", "list", "--json", "--url", url], { signal, cwd: project.dir });
  const sdk = await packedHash();
  const sdkFile = join(project.dir, ".svc/installed-sdk");
  const sdkIsInstalled = existsSync(sdkFile) && (await readFile(sdkFile, "utf8")) === sdk;
  const configured = new Set(JSON.parse(stdout).workers.map((worker) => worker.name));
  for (const name of WORKERS) {
    const known = configured.has(name);
    if (known && sdkIsInstalled) continue;
    if (known) await dropInstalled(project, name);
    await svc(["worker", "add", `./workers/${name}`, "--url", url, ...(known ? ["--force"] : [])], {
      signal,
      cwd: project.dir,
      timeoutMs: WORKER_TIMEOUT_MS,
      // The output of pip and npm is shown only after a failure. The CLI's own output is progress.
      onLine: (line) => {
        if (!line.startsWith("  | ")) note(line);
      },
      fix: `look at ${relative(root, join(project.dir, ".svc/logs"))} and the output above, then run \`npm start\` again.`,
    });
  }
  await waitUntilReady(url, signal);
  await writeFile(sdkFile, sdk);
}

/**
 * A new build of the SDK has the same version as the previous one, so installers and lock files would keep the old one.
 */
async function dropInstalled(project, name) {
  const leftovers = ["node_modules", "package-lock.json", ".venv"];
  await Promise.all(
    leftovers.map((entry) => rm(join(project.dir, "workers", name, entry), { recursive: true, force: true })),
  );
}

async function waitUntilReady(url, signal) {
  const { connect, silentLogger } = await import(pathToFileURL(join(root, "packages/sdk/dist/node.js")).href);
  const worker = connect(url, { name: "npm start", kind: "cli", handleSignals: false, logger: silentLogger });
  try {
    const waits = WORKERS.map((name) =>
      worker.call({ function_id: "worker::wait", payload: { name, timeout_ms: 120_000 }, timeoutMs: 130_000 }),
    );
    const workers = await Promise.race([Promise.all(waits), timeLimit(130_000, signal)]);
    const late = workers.find(({ state }) => state !== "ready");
    if (late !== undefined) {
      const why = late.reason === null ? "" : `: ${late.reason}`;
      throw new StepFailure(`${late.name} is not ready, it is ${late.state}${why}`, {
        output: late.tail,
        fix: `the whole output is in ${late.log_file}.`,
      });
    }
  } catch (error) {
    if (signal.aborted || error instanceof StepFailure) throw error;
    throw new StepFailure(error.message, { cause: error });
  } finally {
    await worker.shutdown();
  }
}

async function callOnce(project, engine, { signal }) {
  const { stdout } = await svc(
    ["trigger", `--function-id=${FUNCTION_ID}`, `--payload=${PAYLOAD}`, "--url", engine.addresses.bridge],
    {
      signal,
      cwd: project.dir,
    },
  );
  return stdout.trim();
}

/** Opens a browser under the same conditions as `svc console`: if a user is at a screen. */
async function openInBrowser(address) {
  const { openBrowser } = await import(pathToFileURL(join(root, "packages/cli/dist/terminal/open-browser.js")).href);
  openBrowser(address, { env: process.env, noteColumns: process.stderr.isTTY ? process.stderr.columns : undefined });
}

function printNextSteps(project, engine, consoleAddress) {
  const { bridge, http, realtime } = engine.addresses;
  const dir = relative(process.cwd(), project.dir) || ".";
  process.stderr.write(`
svc is running.
  console                 ${consoleAddress}
  HTTP API                ${http}
  live updates            ${realtime}
  workers connect to      ${bridge}
  project                 ${dir} (its README goes on from here)

Try in a second terminal:
  npx --no svc trigger --function-id=math::add --payload='{"a": 2, "b": 3}' --url ${bridge}
  npx --no svc worker list --url ${bridge}
  curl ${http}/healthz

Ctrl-C stops the engine, both workers and the console.

`);
}
