import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { isRunning, killHard } from "../support/processes.ts";
import { type Executed, openTerminal, type Terminal } from "../support/terminal.ts";
import { type WorkerProject, workerProject } from "../support/worker-project.ts";

// One engine and one project, from the first worker that is added to the last that is removed. Each test continues
// where the one before ended.
const SLOW = { timeoutMs: 90_000 };
let project: WorkerProject;
/** Named pipe: the install of `hello` ends when a line is written to it. */
let installPipe: string;
let ports: Ports;
let engine: EngineProcess;
let terminal: Terminal;

beforeAll(async () => {
  project = workerProject({ configured: [], installHello: "read line < ../../install-pipe" });
  installPipe = join(project.folder, "install-pipe");
  execFileSync("mkfifo", [installPipe]);
  ports = await freePorts();
  engine = await startEngine({ cwd: project.folder, ports });
});
beforeEach(async () => {
  terminal = await openTerminal({ cwd: project.folder, columns: 100, rows: 45 });
});
afterEach(() => terminal.close());
afterAll(async () => {
  engine.child.kill("SIGTERM");
  await engine.exited;
  await project.isQuiet();
  project.remove();
});

const worker = (command: string): Promise<Executed> => terminal.execute(`svc worker ${command}`, SLOW);
const widest = (text: string): number => Math.max(...text.split("\n").map((line) => line.length));

describe("svc worker at a terminal", () => {
  it("adds several and shows progress, what was installed and what is ready", async () => {
    await terminal.start("svc worker add ./workers/hello ./workers/there state");
    await terminal.shows(/Installing dependencies of hello \d+ s/);
    await writeFile(installPipe, "done\n");

    const { status, text } = await terminal.ended(SLOW);

    expect(status, text).toBe(0);
    expect(text).toMatch(
      /^\[1\/3\] \.\/workers\/hello\n(?:.*\n)*Dependencies installed in [\d.]+ m?s\n(?:.*\n)*Ready: hello::greet \(1 function\)$/m,
    );
    expect(text).toMatch(
      /^\[2\/3\] \.\/workers\/there\n(?:.*\n)*^\[3\/3\] state\nWorker svc-state added to config\.yaml$/m,
    );
    // Nothing of the spinner is left.
    expect(text).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  });

  it("reports each failure and a summary", async () => {
    const { status, text } = await worker("add ./workers/hello ./nowhere");

    expect(status).toBe(1);
    expect(text).toMatch(/^error: Worker hello is already in config\.yaml\.$/m);
    expect(text).toMatch(/^error: Folder \.\/nowhere not found\.$/m);
    expect(text).toContain("2 of 2 could not be added: ./workers/hello, ./nowhere.");
  });

  it("lists within 80 columns, in colour unless NO_COLOR is set", async () => {
    await terminal.resize({ columns: 80, rows: 45 });

    const { status, text } = await worker("list");

    expect(status).toBe(0);
    expect(text).toMatch(/^NAME +KIND +STATE +CPU +MEMORY +RESTARTS +UPTIME +FUNCTIONS$/m);
    expect(text).toMatch(/^hello +local +ready +[\d.]+% +\d+ MiB +0 +\d+ (?:s|min) +hello::/m);
    expect(await terminal.colouredScreen()).toMatch(/\[32mready/);
    // A wider line would wrap.
    expect(text.trim().split("\n")).toHaveLength(6);
    await terminal.execute("NO_COLOR=1 svc worker list");
    expect(await terminal.colouredScreen()).not.toMatch(/\[\d+m/);
  });

  it("shows the status of one, and updates it until Ctrl-C", async () => {
    const { status, text } = await worker("status hello");
    expect(status).toBe(0);
    expect(text).toMatch(/^hello {2}ready$/m);
    expect(text).toMatch(/^Last output\n(?:.*\n)*[\d:.]+ [|] hello is awake$/m);

    await terminal.start("svc worker status hello --watch");
    await terminal.shows("Updated every second; press Ctrl-C to stop.");
    const { replicas } = JSON.parse((await sideways("svc worker status hello --json")).text) as {
      replicas: { pid: number }[];
    };
    killHard(replicas[0]?.pid);
    await terminal.shows(/^last exit +SIGKILL, /m, SLOW);
    await terminal.shows(/^restarts +1 after a crash$/m, SLOW);
    await terminal.press("C-c");
    const watched = await terminal.ended();
    expect(watched.status).toBe(0);
    expect(watched.text).toMatch(/^\[\d+ \d+\]\$ svc worker status hello --watch\n(?:\^C)?hello {2}/m);
  });

  it("shows the output of several by time, and follows it across an engine restart until Ctrl-C", async () => {
    const { status, text } = await worker("logs hello there --tail 20");
    expect(status).toBe(0);
    expect(text).toMatch(/^hello [|] [\d:.]+ hello is awake$/m);
    expect(text).toMatch(/^there ! [\d:.]+ there minds$/m);
    expect(text).toMatch(/^there [|] [\d:.]+ info {2}connected to the engine/m);

    await terminal.start("svc worker logs there --tail 1 --follow");
    // A line that follows a shown one cannot be missed.
    await terminal.shows(/^[\d:.]+ [|!] /m, SLOW);
    await sideways("svc trigger there::greet whom=Ada");
    await terminal.shows(/^[\d:.]+ [|] greeting Ada$/m);
    engine.child.kill("SIGTERM");
    await engine.exited;
    await terminal.shows("The engine does not respond; reconnecting.");
    engine = await startEngine({ cwd: project.folder, ports });
    await terminal.shows("Reconnected to the engine.", SLOW);
    await terminal.shows(/^[\d:.]+ [|] there is awake$/m, SLOW);
    await terminal.press("C-c");
    expect(await terminal.ended()).toMatchObject({ status: 0 });
  });

  it("stops, starts, restarts and updates", async () => {
    const pids = project.processes();

    expect(await worker("stop hello there")).toMatchObject({
      status: 0,
      text: expect.stringContaining("Worker there stopped. Start it again with: svc worker start there\n") as string,
    });
    expect((await worker("list")).text).toMatch(/^hello +local +stopped +- +- +0 +- *$/m);
    expect(pids.length).toBeGreaterThanOrEqual(2);
    expect(pids.filter(isRunning)).toEqual([]);
    expect((await worker("start --all")).text).toMatch(
      /^\[2\/2\] there\nWorker there started\nReady: there::greet \(1 function\)$/m,
    );
    expect((await worker("restart hello")).text).toMatch(
      /^Restarting worker hello\nReady: hello::greet \(1 function\)$/m,
    );
    const updated = await worker("update there");
    expect(updated).toMatchObject({
      status: 0,
      text: expect.stringMatching(/^Installing the dependencies of there again\nReady: /m) as string,
    });
    expect((await worker("logs there --stream install --tail 1")).text).toMatch(/^[\d:.]+ [|] nothing to fetch$/m);
  });

  it("shows how a worker is run, by name and by folder", async () => {
    const byName = await worker("inspect hello");
    const byFolder = await worker("inspect ./workers/hello");

    expect(byName.text).toMatch(/^start +node src\/worker\.mjs$/m);
    expect(byName.text).toMatch(/^replicas +1$/m);
    expect(byFolder.text).toMatch(/^install +read line < /m);
    expect([byName.status, byFolder.status]).toEqual([0, 0]);
  });

  it("asks before it removes, changes nothing on no, and keeps the files on yes", async () => {
    await terminal.start("svc worker remove there");
    await terminal.shows("Remove there from config.yaml? [y/N]");
    await terminal.press("Enter");
    expect(await terminal.ended()).toMatchObject({
      status: 1,
      text: expect.stringContaining("Nothing was changed.") as string,
    });

    await terminal.start("svc worker remove hello there state");
    await terminal.shows("calls of state::");
    await terminal.type("y");
    await terminal.press("Enter");

    const { status, text } = await terminal.ended(SLOW);
    expect(status).toBe(0);
    expect(text).toMatch(/^Worker there removed from config\.yaml\nIts files stay in \//m);
    expect((await worker("list; ls workers")).text).toMatch(/^svc-observability +module(?:.|\n)*hello\s+there/m);
  });

  it.each(["add", "remove", "list", "status", "logs", "start", "stop", "restart", "update", "inspect"])(
    "%s --help fits 80 columns",
    async (command) => {
      // The terminal is wider than it reports, to show lines that would not fit.
      await terminal.resize({ columns: 160, rows: 60 });

      const { status, text } = await terminal.execute(`stty cols 80; svc worker ${command} --help`);

      expect(status).toBe(0);
      expect(text).toContain(`Usage: svc worker ${command}`);
      expect(text).toContain("--json");
      expect(text).toMatch(/^Examples:\n {2}svc worker /m);
      expect(widest(text)).toBeLessThanOrEqual(80);
    },
  );

  it.each([
    ["stop helo", 1, "no worker is named helo"],
    ["restrat", 2, "did you mean restart?"],
    ["logs hello --since yesterday", 2, 'e.g. "10m" or "2h"'],
    ["start", 2, "Give a worker's name, or pass --all"],
    ["list --url ws://127.0.0.1:1", 3, "No engine reachable"],
  ])("rejects %s with a message", async (command, expected, message) => {
    const { status, text } = await worker(command);

    expect(status).toBe(expected);
    expect(text.replaceAll(/\s+/g, " ")).toContain(message);
  });
});

/** Runs a command in a second terminal; returns its output without the prompt. */
async function sideways(command: string): Promise<Executed> {
  const other = await openTerminal({ cwd: project.folder, columns: 4_000, rows: 50 });
  try {
    const { status, text } = await other.execute(command, SLOW);
    return { status, text: text.slice(text.indexOf("\n") + 1) };
  } finally {
    await other.close();
  }
}
