import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, startEngine, svc } from "./support/cli.ts";
import { connectCaller } from "./support/connect-caller.ts";
import { commandOf, eventually, isRunning, processesIn } from "./support/processes.ts";

// One engine for the whole file: five workers of different kinds, a command, and one worker that cannot start.
const project = mkdtempSync(join(tmpdir(), "svc-supervision-"));
const repository = fileURLToPath(new URL("../..", import.meta.url));
const WORKERS = ["node", "python", "forks", "stubborn", "floods"];

const NODE = `import { connect } from ${JSON.stringify(join(repository, "packages/sdk/dist/node.js"))};
connect().registerFunction("node::answer", () => 42);
`;
const PYTHON = `import svc
worker = svc.connect()
@worker.function("python::answer")
def answer(payload):
    return 42
worker.run()
`;
const SCRIPTS: Readonly<Record<string, string>> = {
  node: `exec ${process.execPath} worker.mjs`,
  python: `exec ${join(repository, ".venv/bin/python")} worker.py`,
  // Each child has a child, the last ones in their own sessions. The shell that started all of them waits for none.
  forks:
    "for n in 1 2 3; do (sh -c 'sleep 600; :' & sleep 600; :) & done; (setsid sh -c '(setsid sleep 600 &); sleep 600; :' &); exec sleep 600",
  stubborn:
    "(setsid sh -c \"trap '' TERM; (setsid sleep 600 &); sleep 600; :\" &); trap '' TERM HUP INT; while :; do sleep 600; done",
  // Waits until the test writes to the pipe, so that it takes no CPU time from the tests before.
  floods: "read line < ../flood-pipe; exec yes this line is written as often as the machine can",
  crashes: "echo 'starting up'; echo 'cannot open the database' >&2; exit 3",
};

interface Status {
  readonly state: string;
  readonly reason: string | null;
  readonly pids: readonly number[];
  readonly restarts: number;
  readonly next_start_at: string | null;
  readonly last_exit: {
    readonly code: number | null;
    readonly signal: string | null;
    readonly at: string;
    readonly lines: readonly string[];
  } | null;
}

let engine: EngineProcess;
let caller: Worker;
let url: string;
let httpPort: number;

const statusOf = (name: string): Promise<Status> =>
  caller.call<Status>({ function_id: "worker::status", payload: { name } });

async function statusWith(name: string, isSo: (status: Status) => boolean, timeoutMs?: number): Promise<Status> {
  let status: Status | undefined;
  await eventually(
    `${name} is as awaited`,
    async () => {
      status = await statusOf(name);
      return isSo(status);
    },
    timeoutMs,
  );
  return status as Status;
}

async function linesOf(name: string, stream: string): Promise<readonly string[]> {
  const { lines } = await caller.call<{ readonly lines: readonly { readonly text: string }[] }>({
    function_id: "worker::logs",
    payload: { name, stream },
  });
  return lines.map(({ text }) => text);
}

beforeAll(async () => {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    mkdirSync(join(project, name));
    writeFileSync(join(project, name, "worker.sh"), `${script}\n`);
    writeFileSync(
      join(project, name, "svc.worker.yaml"),
      `name: ${name}\nruntime: {kind: other}\nscripts: {start: sh worker.sh}\n`,
    );
  }
  execFileSync("mkfifo", [join(project, "flood-pipe")]);
  writeFileSync(join(project, "node/worker.mjs"), NODE);
  writeFileSync(join(project, "python/worker.py"), PYTHON);
  writeFileSync(
    join(project, "config.yaml"),
    `workers:
${Object.keys(SCRIPTS)
  .map((name) => `  - {name: ${name}, path: ${name}, env: {PYTHONPATH: ${join(repository, "python/src")}}}`)
  .join("\n")}
  - name: svc-exec
    config:
      commands:
        - {name: command, command: "sleep 600 & sleep 600; :", depends_on: [node]}
        - {name: migrate, command: ["true"], restart: never}
`,
  );
  const ports = await freePorts();
  engine = await startEngine({ cwd: project, ports });
  httpPort = ports.http;
  url = `ws://localhost:${ports.bridge}`;
  caller = connectCaller(url);
});

afterAll(async () => {
  await caller?.shutdown({ timeoutMs: 1 });
  engine?.child.kill("SIGKILL");
  await eventually("the project's processes are gone", () => processesIn(project).length === 0);
  rmSync(project, { recursive: true, force: true });
});

describe("the supervisor (gap 53) (gap 61) (gap 62) (gap 63) (gap 64) (gap 66) (gap 72)", () => {
  it("lets the engine become ready although a command ended before it could be ready", async () => {
    await statusWith("migrate", ({ state, reason }) => state === "stopped" && reason === "it ended with exit code 0");
    // The crashing worker is still awaited.
    const answer = await (await fetch(`http://localhost:${httpPort}/readyz`)).text();
    expect(answer).toContain("crashes (");
    expect(answer).not.toContain("migrate");
  });

  it("restarts a worker that was killed with -9 at once, until it is ready", async () => {
    for (const name of ["node", "python"]) {
      const before = await statusWith(name, ({ state }) => state === "ready", 60_000);
      process.kill(before.pids[0] ?? Number.NaN, "SIGKILL");
      const after = await statusWith(name, ({ state, restarts }) => state === "ready" && restarts === 1, 60_000);
      expect(after.pids).not.toContain(before.pids[0]);
      expect(after.last_exit).toMatchObject({ code: null, signal: "SIGKILL" });
      expect((await linesOf(name, "svc")).join("\n")).toMatch(/^process was ended by SIGKILL.* and restarts at once$/m);
      expect(await caller.call({ function_id: `${name}::answer`, payload: {} })).toBe(42);
    }
  });

  it("reports the last output of a worker that crashes at every start, and backs off", async () => {
    const status = await statusWith("crashes", ({ state }) => state === "crash_looping", 90_000);
    expect(status.reason).toContain("cannot open the database");
    expect(status.last_exit).toMatchObject({ code: 3 });
    expect(status.last_exit?.lines.toSorted()).toEqual(["cannot open the database", "starting up"]);
    expect(Date.parse(status.next_start_at ?? "") - Date.now()).toBeGreaterThan(60_000);
    const listed = await svc(["worker", "list", "--json"], { cwd: project, url });
    expect(JSON.parse(listed.stdout)).toMatchObject({
      workers: expect.arrayContaining([
        expect.objectContaining({ name: "crashes", state: "crash_looping", reason: status.reason }),
      ]),
    });
  });

  it("leaves no process of a stopped worker running, even in other sessions", async () => {
    const folder = join(project, "forks");
    const sleeping = (): number[] => processesIn(folder).filter((pid) => commandOf(pid).startsWith("sleep "));
    await eventually("forks has forked", () => sleeping().length === 9);
    expect(await svc(["worker", "stop", "forks"], { cwd: project, url })).toMatchObject({ code: 0 });
    await statusWith("forks", ({ state }) => state === "stopped");
    expect(processesIn(folder)).toEqual([]);
    await caller.call({ function_id: "worker::start", payload: { name: "forks" } });
    await eventually("forks has forked again", () => sleeping().length === 9);
  });

  it("leaves no process of five workers running after a kill -9 of the engine, whatever they fork, ignore or write", async () => {
    for (const name of [...WORKERS, "command"]) await statusWith(name, ({ pids }) => pids.length > 0, 60_000);
    await statusWith("forks", ({ pids }) => pids.length >= 7);
    await writeFile(join(project, "flood-pipe"), "begin\n");
    await eventually("floods writes", async () => (await linesOf("floods", "out")).length > 0);
    const alive = processesIn(project).filter((pid) => pid !== engine.pid);
    expect(alive.length).toBeGreaterThan(WORKERS.length + 6);
    engine.child.kill("SIGKILL");
    await engine.exited;
    await eventually("none of them is alive", () => !alive.some(isRunning) && processesIn(project).length === 0);
  });
});
