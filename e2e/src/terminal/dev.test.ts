import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { svc } from "../support/cli.ts";
import { commandOf, killHard } from "../support/processes.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "../support/terminal.ts";
import { type WorkerProject, workerProject } from "../support/worker-project.ts";

const DEV = "svc dev --bridge-port 0 --http-port 0 --ws-port 0 --console-port 0";
const STARTED = { timeoutMs: 60_000 };

let project: WorkerProject;
let terminal: Terminal;

beforeAll(() => {
  project = workerProject({ configured: ["hello", "there"] });
});
afterEach(async () => {
  await terminal.close();
  await project.isQuiet();
});
afterAll(() => project.remove());

async function inProject(options: Partial<TerminalOptions> = {}): Promise<Terminal> {
  terminal = await openTerminal({ cwd: project.folder, ...options });
  return terminal;
}

async function isUp(): Promise<void> {
  await terminal.shows("svc dev is running", STARTED);
  for (const name of ["hello", "there"])
    await terminal.shows(new RegExp(`^${name} +[|] [\\d:.]+ process is ready`, "m"), STARTED);
}

/** Raw mode would not echo keys and would not translate Enter. */
async function takesLines(): Promise<void> {
  const { text } = await terminal.execute("stty -a");
  for (const mode of ["icanon", "echo", "isig", "icrnl"]) expect(text).toMatch(new RegExp(`(?<!-)\\b${mode}\\b`));
}

it("says what to do if there is no config file, and creates none", async () => {
  terminal = await openTerminal({ cwd: tmpdir() });

  const { status, text } = await terminal.execute("svc dev; ls config.yaml");

  expect(status).toBe(2);
  expect(text).toContain("svc create");
  expect(text).toContain("cannot access 'config.yaml'");
});

it("prefixes output with its source, restarts, shows help, and quits at q without leftovers", async () => {
  await inProject({ columns: 80 });
  await terminal.start(DEV);
  await isUp();

  await terminal.shows(/^ +console +http:\/\/localhost:\d+\/workers$/m);
  await terminal.shows(/^ +local workers +hello, there$/m);
  await terminal.shows(/^hello {3}[|] [\d:.]+ hello is awake$/m);
  await terminal.shows(/^there {3}! [\d:.]+ there minds$/m);
  await terminal.shows(/^there {3}[|] [\d:.]+ info {2}connected to the engine address=/m);
  expect(await terminal.colouredScreen()).toMatch(/\[3[0-9]m(?:hello|there|engine)/);
  await terminal.press("h");
  await terminal.shows(/^Keys$/m);
  await terminal.press("o");
  await terminal.shows(/^(?:Opening http|Cannot open a browser here)/m);
  await terminal.press("r");
  await terminal.shows("Restarting hello, there");
  await terminal.shows(/^hello +[|] [\d:.]+ restart requested(?:.|\n)*^hello +[|] [\d:.]+ process is ready/m, STARTED);
  await terminal.press("q");

  expect(await terminal.ended(STARTED)).toMatchObject({
    status: 0,
    text: expect.stringMatching(
      /Stopping the console, the engine and its workers\.(?:.|\n)*the engine has stopped/,
    ) as string,
  });
  await takesLines();
});

it("applies what a second terminal adds and calls, honours NO_COLOR, and quits at Ctrl-C", async () => {
  await inProject({ env: { NO_COLOR: "1" } });
  await terminal.start(DEV);
  await isUp();

  expect(await svc(["worker", "add", "svc-state"], { cwd: project.folder })).toMatchObject({ code: 0 });
  expect((await svc(["trigger", "hello::greet", "whom=Ada"], { cwd: project.folder })).stdout).toBe(
    '{"greeting":"Hello Ada"}\n',
  );

  await terminal.shows(/^hello +[|] [\d:.]+ greeting Ada$/m);
  await terminal.shows(/^engine +[|] [\d:.]+ info {2}the config file was applied added=\["svc-state"\]/m);
  const second = await svc(["dev", "--bridge-port", "0", "--http-port", "0", "--ws-port", "0", "--console-port", "0"], {
    cwd: project.folder,
  });
  expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("error: ") as string });
  expect(await terminal.colouredScreen()).not.toMatch(/\[\d+m/);
  await terminal.press("C-c");
  const { status, text } = await terminal.ended(STARTED);
  expect(status).toBe(0);
  // The SDK writes the line to the worker's output and sends it to the engine.
  expect(text.match(/^hello +[|] .* info {2}connected to the engine/gm)).toHaveLength(1);
  await takesLines();
});

it("reports that the engine has exited, exits with 1, and restores the terminal", async () => {
  await inProject();
  await terminal.start(DEV);
  await isUp();
  const engine = project.processes().find((pid) => / --config \S+ --log json /.test(commandOf(pid)));

  killHard(engine);

  const { status, text } = await terminal.ended(STARTED);
  expect(status).toBe(1);
  expect(text).toContain("The engine exited (SIGKILL)");
  await takesLines();
});

it("stops everything when it is killed", async () => {
  await inProject();
  await terminal.start(DEV);
  await isUp();
  const dev = project.processes().find((pid) => / dev --bridge-port /.test(commandOf(pid)));

  killHard(dev);

  expect(await terminal.ended(STARTED)).toMatchObject({ status: 137 });
  await project.isQuiet();
});

it("prints plain lines without a terminal", async () => {
  await inProject();
  await terminal.start(`${DEV} --no-console --quiet-ids 2>&1 | cat`);
  await isUp();
  await terminal.shows("Press Ctrl-C to stop everything.");
  await terminal.shows(/^ +console +not running$/m);
  await terminal.shows(/^hello +[|] [\d:.]+ info {2}connected to the engine address=\S+$/m);

  await terminal.press("C-c");

  await terminal.ended(STARTED);
});
