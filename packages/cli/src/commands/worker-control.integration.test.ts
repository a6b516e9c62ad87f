import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";
import { PROBE_MANIFEST, writeProbeWorker } from "../running-engine.test-support.ts";
import type { WorkerReport } from "../workers/worker-functions.ts";

/** `one` has two processes, `two` has a limit that cannot be enforced, `broken` exits as soon as it starts. */
const CONFIG = `workers:
  - { name: one, path: ./one, replicas: 2 }
  - { name: two, path: ./two, limits: { cpu: 1 } }
  - { name: broken, path: ./broken }
`;

let system: TestSystem;
const worker = (...args: readonly string[]): Promise<Ended> => system.svc(["worker", ...args]);

async function report(name: string): Promise<WorkerReport> {
  return JSON.parse((await worker("status", name, "--json")).out) as WorkerReport;
}

const manifestOf = (name: string, more = ""): string =>
  `${PROBE_MANIFEST.replace("probe-worker", name).replace("start: ", "start: echo up; echo down >&2; exec ")}${more}`;
const FAILING_INSTALL = "  install: echo no such package; exit 7\n";

beforeAll(async () => {
  system = await testSystem(CONFIG, async ({ dir }) => {
    for (const name of ["one", "two"]) await writeProbeWorker(join(dir, name), manifestOf(name));
    await writeProbeWorker(
      join(dir, "broken"),
      PROBE_MANIFEST.replace("probe-worker", "broken").replace("start: node", "start: echo sad >&2; exit 4; node"),
    );
  });
  await worker("start", "one", "two");
}, 60_000);
afterAll(() => system.stop());

describe("svc worker list", () => {
  it("shows resource use and uptime of the workers, and why one is not running", async () => {
    const { status, out } = await worker("list");

    expect(status).toBe(EXIT.done);
    expect(out).toMatch(/^NAME +KIND +STATE +CPU +MEMORY +RESTARTS +UPTIME +FUNCTIONS$/m);
    expect(out).toMatch(/^one +local +ready 2\/2 +\d+\.\d% +\d+ MiB +0 +\d+ s +probe::ping$/m);
    await expect
      .poll(async () => (await worker("list")).notes)
      .toMatch(/note: broken: it ended with exit code 4.*\n +More: svc worker status broken\n/);
  });

  it("includes remote workers with --all", async () => {
    expect((await worker("list")).out).not.toContain("math-worker");
    expect((await worker("list", "--all")).out).toMatch(/^math-worker +remote +ready /m);
  });
});

describe("svc worker status", () => {
  it("shows processes, functions, log file and last output", async () => {
    const { status, out } = await worker("status", "one");

    expect(status).toBe(EXIT.done);
    for (const line of [
      /^one {2}ready$/m,
      /^processes +#1 {2}ready {2}pid \d+$/m,
      /^functions +probe::ping$/m,
      /^log file +\/.*\/one\.log$/m,
      /[|] up$/m,
      /! down$/m,
    ]) {
      expect(out).toMatch(line);
    }
  });

  it("shows the last exit with its last lines", async () => {
    const { out } = await worker("status", "broken");

    expect(out).toMatch(/^last exit +exit code 4, /m);
    expect(out).toMatch(/^ +[|] sad$/m);
  });

  it("shows a module by its short name, and as JSON with its triggers", async () => {
    expect((await worker("status", "observability")).status).toBe(EXIT.failed);
    expect(await report("svc-observability")).toMatchObject({ kind: "module", state: "ready", triggers: [] });
  });

  it("watches on a terminal until Ctrl-C and leaves the last page on the screen", async () => {
    const { shell, ended } = system.started(["worker", "status", "two", "--watch"], {
      outColumns: 100,
      rows: 12,
      env: { NO_COLOR: "1" },
    });
    await shell.printed("press Ctrl-C to stop.");

    shell.stop("SIGINT");

    expect(await ended).toBe(EXIT.done);
    const [, watched = "", left] = shell.written.out.split(/\[\?1049[hl]/);
    // The last page is complete; while watching, only what fits is shown.
    expect(left).toMatch(/^two {2}ready\n(?:.*\n)*Last output\n/);
    expect(watched.split("\r\n")).toHaveLength(12);
    expect(shell.listeners()).toBe(0);
  });

  it.each([
    [["two", "--watch"], EXIT.usage, "needs a terminal"],
    [["two", "--watch", "--json"], EXIT.usage, "cannot be used together"],
    [["tow"], EXIT.failed, "did you mean two?"],
  ])("rejects %j", async (args, expected, hint) => {
    const { status, notes } = await worker("status", ...args);

    expect(status).toBe(expected);
    expect(notes).toContain(hint);
  });
});

describe("svc worker stop, start, restart and update", () => {
  it("stops several until their processes have exited, reports stopped ones, and starts them", async () => {
    const { pids } = await report("one");

    const stopped = await worker("stop", "one", "two");
    const again = await worker("stop", "one");
    const called = await system.svc(["trigger", "zeta::gone"]);
    const described = await system.svc(["functions", "zeta::gone"]);

    expect(stopped.status).toBe(EXIT.done);
    expect(stopped.notes).toContain(
      "[2/2] two\nWaiting until two has stopped ...\nWorker two stopped. Start it again with: svc worker start two\n",
    );
    expect(pids.filter(runs)).toEqual([]);
    expect(await report("one")).toMatchObject({ state: "stopped", pids: [] });
    expect(again).toMatchObject({ status: EXIT.done, notes: "Worker one is already stopped\n" });
    // A missing function may belong to a stopped worker.
    expect(JSON.parse(called.notes)).toMatchObject({
      hint: expect.stringContaining("one is stopped: svc worker start one; two is stopped: "),
    });
    expect(described.notes).toContain("\none is stopped: svc worker start one\n");
    expect(described.notes).toContain("\nbroken is ");

    const started = await worker("start", "one", "two", "--json");
    expect(started.status).toBe(EXIT.done);
    expect(JSON.parse(started.out)).toMatchObject({
      workers: [
        { name: "one", state: "ready" },
        { name: "two", functions: ["probe::ping"] },
      ],
      failed: [],
    });
    expect((await worker("start", "one")).notes).toMatch(/^Worker one is already running\n/);
  }, 40_000);

  it("restarts with new processes", async () => {
    const { pids } = await report("two");

    const { status, notes } = await worker("restart", "two");

    expect(status).toBe(EXIT.done);
    expect(notes).toMatch(/^Restarting worker two\n(?:.*\n)*Ready: probe::ping \(1 function\)\n$/);
    expect((await report("two")).pids.filter((pid) => pids.includes(pid))).toEqual([]);
  }, 20_000);

  it("exits with 1 and the reason for a worker that does not become ready, and restarts the others", async () => {
    writeFileSync(join(system.project.dir, "broken/svc.worker.yaml"), manifestOf("broken", FAILING_INSTALL));

    const { status, out, notes } = await worker("restart", "--all", "--json");

    expect(status).toBe(EXIT.failed);
    expect(notes).toMatch(/Worker broken is not ready; it is failed: .*\n(?:.*\n)*.*no such package/);
    expect(notes).toContain("1 of 3 could not be restarted: broken.");
    expect(JSON.parse(out)).toMatchObject({
      workers: [{ name: "one" }, { name: "two" }],
      failed: [{ worker: "broken" }],
    });
  }, 40_000);

  it("keeps a worker running whose new process does not become ready, and exits with 1 and the reason", async () => {
    const source = join(system.project.dir, "two/worker.mjs");
    const working = readFileSync(source, "utf8");
    const { pids } = await report("two");
    writeFileSync(source, "throw new Error('not today');\n");

    const failed = await worker("restart", "two");
    const after = await report("two");
    const { out: listed, notes: reasons } = await worker("list");
    writeFileSync(source, working);
    const fixed = await worker("restart", "two");

    expect([failed.status, fixed.status]).toEqual([EXIT.failed, EXIT.done]);
    expect(failed.notes).not.toContain("Ready:");
    expect(failed.notes).toMatch(
      /Worker two was not restarted: its new process ended with exit code 1 .*before it was ready\nThe previous processes keep running\./,
    );
    expect(failed.notes).toContain("Output of the new process: svc worker logs two");
    expect(after).toMatchObject({ state: "ready", pids });
    expect(listed).toMatch(/^two +local +ready/m);
    expect(reasons).toContain("its new process ended with exit code 1");
  }, 40_000);

  it("installs again, and keeps a worker running whose install fails", async () => {
    const manifest = join(system.project.dir, "two/svc.worker.yaml");
    writeFileSync(manifest, manifestOf("two", "  install: echo fetched\n"));
    const updated = await worker("update", "two");
    const installed = await worker("logs", "two", "--stream", "install", "--json");
    writeFileSync(manifest, manifestOf("two", FAILING_INSTALL));

    const failed = await worker("update", "two");
    const { state } = await report("two");
    writeFileSync(manifest, manifestOf("two"));
    const fixed = await worker("update", "two");

    expect([updated.status, failed.status, fixed.status]).toEqual([EXIT.done, EXIT.failed, EXIT.done]);
    expect((JSON.parse(installed.out) as { lines: { text: string }[] }).lines.map(({ text }) => text)).toContain(
      "fetched",
    );
    expect(failed.notes).toContain("Worker two was not updated: ");
    expect(failed.notes).toContain("svc worker logs two --stream install");
    expect(state).toBe("ready");
  }, 40_000);

  it.each([
    [["stop"], EXIT.usage, "Give a worker's name, or pass --all"],
    [["stop", "one", "--all"], EXIT.usage, "omit --all"],
    [["stop", "one", "tow"], EXIT.failed, "did you mean two?"],
    [["restart", "svc-observability"], EXIT.failed, "is a module of the engine"],
    [["stop", "math-worker"], EXIT.failed, "stop it where it runs"],
  ])("rejects %j and changes nothing", async (args, expected, hint) => {
    const { status, notes } = await worker(...args);

    expect(status).toBe(expected);
    expect(notes).toContain(hint);
    expect(await report("one")).toMatchObject({ state: "ready" });
  });
});

describe("svc worker logs", () => {
  it("merges several by time with their names, and filters by stream", async () => {
    const { out } = await worker("logs", "one", "two", "--tail", "50", "--stream", "err");
    const times = out
      .trim()
      .split("\n")
      .map((line) => /\d{4}-\S+Z/.exec(line)?.[0] ?? "");

    expect(out).toMatch(/^one#[12] +! \S+Z down$/m);
    expect(out).toMatch(/^two +! \S+Z down$/m);
    expect(out).not.toContain(" up");
    expect(times).toEqual(times.toSorted());
  });

  it("follows until Ctrl-C, as one object per line with --json", async () => {
    const { shell, ended } = system.started(["worker", "logs", "two", "--tail", "0", "--follow", "--json"]);
    await system.svc(["worker", "restart", "two"]);
    await shell.printed('"text":"up"');

    shell.stop("SIGINT");

    expect(await ended).toBe(EXIT.done);
    const lines = shell.written.out.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ worker: "two", stream: "out", replica: null, text: "up" }),
    );
    expect(shell.listeners()).toBe(0);
  }, 20_000);

  it("reports that nothing matches", async () => {
    const { status, out, notes } = await worker("logs", "two", "--since", "2099-01-01");

    expect({ status, out, notes }).toEqual({ status: EXIT.done, out: "", notes: "No matching output.\n" });
  });
});

describe("svc worker inspect", () => {
  it("shows the manifest with the entry, and only the manifest of a folder, with masked secrets", async () => {
    const manifest = join(system.project.dir, "far/svc.worker.yaml");
    await writeProbeWorker(join(system.project.dir, "far"), `${PROBE_MANIFEST}env: { API_TOKEN: hush, LEVEL: low }\n`);

    const byName = JSON.parse((await worker("inspect", "one", "--json")).out) as unknown;
    const byFolder = await system.svc(["worker", "inspect", "./far"]);

    expect(byName).toMatchObject({ name: "one", replicas: 2, where: "config.yaml:2", package_manager: "npm" });
    expect(byFolder.out).toMatch(
      /^probe-worker\n(?:.*\n)*start +node worker\.mjs\nenv\n {2}API_TOKEN {2}\*\*\*\n {2}LEVEL +low\n/,
    );
    expect(byFolder.out).toContain(manifest);
    expect((await worker("inspect", "./nowhere")).status).toBe(EXIT.failed);
  });

  it("shows what is watched, which env files are missing, and the limits", async () => {
    const { out } = await worker("inspect", "two");

    expect(out).toMatch(/^env files +\/\S+\/two\/\.env \(not found\)$/m);
    expect(out).toMatch(/^watch\n {2}include {2}everything\n {2}ignore +none$/m);
    expect(out).toMatch(/^limits\n {2}memory +none\n {2}cpu +1\n {2}not enforced {2}limits\.cpu /m);
    expect(out).not.toMatch(/memory_bytes|not_enforced|missing/);
  });

  it.each([
    [["inspect", "svc-observability"], "svc config explain svc-observability"],
    [["logs", "svc-observability"], "svc logs\n"],
  ])("names for %j the command that works for a module", async (args, instead) => {
    const { status, notes } = await worker(...args);

    expect(status).toBe(EXIT.failed);
    expect(notes).toContain("svc-observability is a module of the engine and has no ");
    expect(notes).toContain(instead);
  });
});

describe("an engine that stops", () => {
  it("does not wait for clients that follow a log", async () => {
    const { shell, ended } = system.started(["worker", "logs", "--tail", "1", "--follow"]);
    await shell.printed("\n");

    await system.engine.stop();
    await shell.noted("The engine does not respond; reconnecting.");
    shell.stop("SIGINT");

    expect(await ended).toBe(EXIT.done);
    expect(system.engine.shell.written.notes).not.toContain("calls were still in flight");
  }, 20_000);
});

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
