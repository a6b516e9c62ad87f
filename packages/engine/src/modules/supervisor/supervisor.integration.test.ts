import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ANONYMOUS, principalOfToken } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { type ProcessGroup, startProcessGroup } from "../../local-workers/process-group.ts";
import { findProcess, identityOf, listProcesses, membersOf, signalIfThere } from "../../local-workers/process-table.ts";
import { markerOf, newRunId, RUN_VARIABLE } from "../../local-workers/run-marker.ts";
import { accessOfRole, type InMemoryWorker, rulesWith } from "../../testing/index.ts";
import type { WorkerStatus } from "./index.ts";
import { RunRecords } from "./run-records.ts";
import { DEFAULT_SCRIPT, SupervisedProject, TIMEOUT } from "./testing/supervised-project.ts";

const project = new SupervisedProject();

it("an engine that is stopped at once has nothing left to create in its folders", async () => {
  await project.start([]);
  await project.engine.stop();
  // It is created last.
  expect(existsSync(join(project.folder, ".svc", "run"))).toBe(true);
});

describe("a supervised worker that sends the lines of its logger itself", () => {
  it("is not told by its output as well, but for its last lines when it ends unasked", async () => {
    const line = (message: string) => `{"level":"error","message":"${message}","log_id":"id of ${message}"}`;
    const script = `echo up $$ here\nwhile [ ! -f first ]; do sleep 0.05; done\necho '${line("early")}'\necho printed\nwhile [ ! -f second ]; do sleep 0.05; done\necho '${line("last words")}'\nexit 1\n`;
    await project.writeWorker("crasher", { script });
    await project.start([project.entry("crasher", { watch: false })]);
    const told: string[] = [];
    project.engine.kernel.telemetry.collect({
      callStarted: () => undefined,
      callRefused: () => {},
      callDenied: () => {},
      startSpan: ({ traceparent }) => ({ traceparent, setAttribute: () => {}, end: () => {} }),
      log: ({ body }) => told.push(body),
      ingest: () => {},
    });
    const pid = await project.runningPid("crasher");
    (await project.engine.connectWorker({ name: "crasher", pid, features: ["logs"] })).serve(
      "crasher::hello",
      () => "hi",
    );
    await project.statusWith("crasher", ({ state }) => state === "ready");
    await writeFile(join(project.folder, "crasher", "first"), "");
    await vi.waitUntil(() => told.includes("printed"), TIMEOUT);
    expect(told).not.toContain("early");
    await writeFile(join(project.folder, "crasher", "second"), "");
    await vi.waitUntil(() => told.includes("last words"), TIMEOUT);
  });
});

describe("a supervised worker", () => {
  it("gets the engine's token, in the published clients' address too where they need it, unless its entry names another (gap 55)", async () => {
    const script = "echo up $SVC_URL $III_URL $SVC_TOKEN\nexec sleep 300\n";
    await project.writeWorker("plain", { script });
    await project.writeWorker("role", { script });
    let needed = false;
    await project.start([project.entry("plain"), project.entry("role", { env: { SVC_TOKEN: "of-a-role" } })], {
      token: "s3cret/of-the-engine",
      tokenInUrl: () => needed,
    });
    const tailOf = async (name: string, text: string): Promise<boolean> =>
      (await project.status(name)).tail.includes(text);
    await vi.waitUntil(() => tailOf("plain", "up ws://localhost:1 ws://localhost:1 s3cret/of-the-engine"), TIMEOUT);
    await vi.waitUntil(() => tailOf("role", "up ws://localhost:1 ws://localhost:1 of-a-role"), TIMEOUT);
    needed = true;
    for (const name of ["plain", "role"]) await project.engine.call("worker::restart", { name });
    await vi.waitUntil(
      () => tailOf("plain", "up ws://localhost:1 ws://svc:s3cret%2Fof-the-engine@localhost:1 s3cret/of-the-engine"),
      TIMEOUT,
    );
    await vi.waitUntil(() => tailOf("role", "up ws://localhost:1 ws://svc:of-a-role@localhost:1 of-a-role"), TIMEOUT);
  });

  it("is not mistaken for a restricted connection that bears its name (K2)", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    const rules = { tokenRequired: false, rbac: undefined, middlewareFunctionId: undefined };
    const impostor = await project.engine.connectWorker({
      name: "w",
      access: new SessionAccess(ANONYMOUS, policyOf(rules)),
    });
    impostor.serve("w::hello", () => "hi");
    const real = await project.engine.connectWorker({ name: "w" });
    real.serve("w::hello", () => "hi");
    await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 });
    expect(project.engine.directory.workerById(impostor.id)?.configured_worker).toBeNull();
    expect(project.engine.directory.workerById(real.id)?.configured_worker).toBe("w");
  });

  it("is started with its environment, and ready when its process has registered", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { env: { EXTRA: "more" } })]);
    const pid = await project.runningPid("w");
    const waiting = project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 }) as Promise<WorkerStatus>;
    const connection = await project.connectAs("another-name", pid);
    expect(await waiting).toMatchObject({
      name: "w",
      kind: "local",
      state: "ready",
      reason: null,
      pids: [pid],
      restarts: 0,
      functions: ["another-name::hello"],
    });
    expect(project.engine.directory.workerById(connection.id)?.configured_worker).toBe("w");
    const { tail, log_file, ready_at } = await project.status("w");
    expect(tail).toContain(`up ${pid} ws://localhost:1 ws://localhost:1 w more`);
    expect(Date.parse(ready_at ?? "")).toBeGreaterThan(Date.now() - 60_000);
    expect(log_file).toBe(join(project.folder, ".svc", "logs", "w.log"));
    await vi.waitUntil(async () => (await readFile(log_file ?? "", "utf8")).includes(`Z out up ${pid}`), TIMEOUT);
  });

  it("whose entry has a token of a role is recognized by connections of this role only", async () => {
    const rules = rulesWith("reader", "writer");
    await project.writeWorker("w");
    await project.start([project.entry("w", { env: { SVC_TOKEN: "token-of-reader" } })], {
      principalOfToken: (token) => principalOfToken(token, rules)?.id,
    });
    const pid = await project.runningPid("w");
    for (const access of [accessOfRole("writer", []), new SessionAccess(ANONYMOUS, policyOf(rules))])
      await project.engine.connectWorker({ name: "w", pid, access });
    expect((await project.status("w")).state).toBe("starting");
    const own = await project.engine.connectWorker({ name: "w", pid, access: accessOfRole("reader", []) });
    own.serve("reader::hello", () => "hi");
    await project.statusWith("w", ({ state, functions }) => state === "ready" && functions.includes("reader::hello"));
    expect(project.engine.directory.workerById(own.id)?.configured_worker).toBe("w");
  });

  it("is found by its name when the pid says nothing", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    await project.connectAs("w");
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })).toMatchObject({
      state: "ready",
    });
  });

  it("is not taken for ready because of a connection that was there before its process", async () => {
    await project.start([]);
    await project.connectAs("w");
    await project.writeWorker("w");
    await project.configure([project.entry("w")]);
    const pid = await project.runningPid("w");
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 600 })).toMatchObject({
      state: "starting",
    });
    await project.connectAs("w", pid);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })).toMatchObject({
      state: "ready",
    });
  });

  it("runs in as many processes as its entry says, each awaited", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { replicas: 2 })]);
    const first = await project.runningPid("w");
    const second = await project.runningPid("w", [first]);
    await project.connectAs("w", first);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 600 })).toMatchObject({
      state: "starting",
    });
    await project.connectAs("w", second);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })).toMatchObject({
      state: "ready",
    });
  });

  it("restarts after it was killed, and its state says so meanwhile", async () => {
    // A log line of a lower level is not the cause of the exit.
    const logged = '{"level":"info","message":"connected to the engine"}';
    await project.writeWorker("w", { script: `echo '${logged}' >&2\n${DEFAULT_SCRIPT}` });
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    await project.statusWith("w", ({ tail }) => tail.includes(logged));
    process.kill(pid, "SIGKILL");
    const down = await project.statusWith("w", ({ state }) => state === "backing_off");
    expect(down.reason).toBe("it was ended by SIGKILL and restarts in 1 s");
    expect(down.tail).toContain("process was ended by SIGKILL and restarts in 1 s");
    expect(await project.runningPid("w", [pid])).not.toBe(pid);
    expect((await project.status("w")).restarts).toBe(1);
  });

  it("that ends says with its reason what its standard error ended with, to who asked to hear of it", async () => {
    await project.writeWorker("w", {
      script: "echo 'Traceback' >&2\necho 'SyntaxError: invalid syntax' >&2\necho >&2\nexit 3\n",
    });
    await project.start([project.entry("w")]);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000, on_crash: true })).toMatchObject({
      state: "backing_off",
      reason: "it ended with exit code 3 (SyntaxError: invalid syntax) and restarts in 1 s",
    });
  });

  it("does not count functions as provided before it is ready", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { replicas: 2 })]);
    const first = await project.runningPid("w");
    const second = await project.runningPid("w", [first]);
    await project.connectAs("w", first);
    expect(await project.status("w")).toMatchObject({ state: "starting", functions: [] });
    await project.connectAs("w", second);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })).toMatchObject({
      state: "ready",
      functions: ["w::hello"],
    });
  });

  it.each([
    {
      what: "a trigger type",
      register: (worker: InMemoryWorker) =>
        worker.send(JSON.stringify({ type: "registertriggertype", id: "ticker", description: "ticks" })),
      provided: ["ticker"],
    },
    {
      what: "a trigger of another's function",
      register: (worker: InMemoryWorker) =>
        worker.send(
          JSON.stringify({
            type: "registertrigger",
            id: "t1",
            trigger_type: "ticker",
            function_id: "other::tick",
            config: {},
          }),
        ),
      provided: [],
    },
  ])("is ready when all that it registered is $what", async ({ register, provided }) => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    const worker = await project.engine.connectWorker({ name: "w", pid });
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 600 })).toMatchObject({
      state: "starting",
    });
    register(worker);
    expect(await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })).toMatchObject({
      state: "ready",
      functions: [],
      trigger_types: provided,
    });
  });

  it("is stopped with all its descendants when the engine stops", async () => {
    await project.writeWorker("w", { script: "sleep 300 &\necho up $$ with a child\nwait\n" });
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    const group = (await findProcess(pid))?.groupId ?? 0;
    expect(membersOf(group, await listProcesses()).length).toBeGreaterThanOrEqual(4);
    await project.engine.stop();
    expect(membersOf(group, await listProcesses())).toEqual([]);
  });

  it("restarts by worker::restart", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    expect(await project.engine.call("worker::restart", { name: "w" })).toMatchObject({ state: "stopping" });
    expect(await project.runningPid("w", [pid])).not.toBe(pid);
    expect((await project.status("w")).restarts).toBe(0);
  });
});

describe("when files change", () => {
  it("the worker restarts for new content, not for a touch", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    await utimes(join(project.folder, "w", "worker.sh"), new Date(), new Date());
    await project.save("w", `echo edited\n${DEFAULT_SCRIPT}`);
    await project.runningPid("w", [pid]);
    expect((await project.status("w")).tail.filter((line) => line.startsWith("changed: "))).toEqual([
      "changed: worker.sh",
    ]);
  });

  it("dependencies are installed first when they changed", async () => {
    const manifest =
      "name: w\nruntime: {kind: javascript}\nscripts:\n  install: echo installing; echo '{}' > package-lock.json\n  start: exec sh worker.sh\n";
    await project.writeWorker("w", { manifest });
    await writeFile(join(project.folder, "w", "package.json"), "{}");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    await writeFile(join(project.folder, "w", "package.json"), '{"private":true}');
    await project.runningPid("w", [pid]);
    const { tail } = await project.status("w");
    expect(tail.filter((line) => line === "installing")).toHaveLength(2);
    // The lock file that the install wrote causes no restart.
    expect(tail.filter((line) => line.startsWith("changed: "))).toEqual(["changed: package.json"]);
  });

  it("a broken manifest leaves the former process running and is told", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    await project.connectAs("w", pid);
    await writeFile(join(project.folder, "w", "svc.worker.yaml"), "name: w\nrntime: {}\n");
    const told = await project.statusWith("w", ({ reason }) => reason?.includes("rntime") ?? false);
    expect(told).toMatchObject({ pids: [pid] });
    expect(told.reason).toContain("did you mean runtime?");
    expect(told.reason).toContain("keep running");
    await project.writeWorker("w", {
      manifest: "name: w\nruntime: {kind: javascript}\nenv: {EXTRA: fixed}\nscripts: {start: exec sh worker.sh}\n",
    });
    const next = await project.runningPid("w", [pid]);
    const { tail, reason } = await project.status("w");
    expect(tail).toContain(`up ${next} ws://localhost:1 ws://localhost:1 w fixed`);
    expect(reason).toBeNull();
  });

  it("a worker that could not start does so when its manifest is right", async () => {
    await project.writeWorker("w", { manifest: "name: w\n" });
    await project.start([project.entry("w")]);
    const failed = (await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })) as WorkerStatus;
    expect(failed).toMatchObject({ state: "failed", pids: [] });
    expect(failed.reason).toContain("runtime: is missing; it must be a block with `kind`");
    await project.writeWorker("w");
    await project.runningPid("w");
  });

  it("a failed install is told with its last lines, and tried again after an edit", async () => {
    await project.writeWorker("w", {
      manifest:
        "name: w\nruntime: {kind: javascript}\nscripts: {install: echo no such package; exit 4, start: exec sh worker.sh}\n".replace(
          "echo no such package; exit 4",
          '"echo no such package; exit 4"',
        ),
    });
    await project.start([project.entry("w")]);
    const failed = (await project.engine.call("worker::wait", { name: "w", timeout_ms: 9_000 })) as WorkerStatus;
    expect(failed.state).toBe("failed");
    expect(failed.reason).toContain("ended with exit code 4");
    expect(failed.reason).toContain("no such package");
    await project.writeWorker("w");
    await project.runningPid("w");
  });

  it("nothing happens where watching is switched off", async () => {
    await project.writeWorker("off");
    await project.writeWorker("on");
    await project.start([project.entry("off", { watch: false }), project.entry("on")]);
    const [off, on] = [await project.runningPid("off"), await project.runningPid("on")];
    for (const name of ["off", "on"]) await project.save(name, `echo edited\n${DEFAULT_SCRIPT}`);
    await project.runningPid("on", [on]);
    expect((await project.status("off")).pids).toEqual([off]);
  });
});

describe("a config change", () => {
  it("starts new workers, stops removed ones, starts changed ones anew and leaves the others alone", async () => {
    for (const name of ["kept", "changed", "removed", "added"]) await project.writeWorker(name);
    await project.start([project.entry("kept"), project.entry("changed"), project.entry("removed")]);
    const kept = await project.runningPid("kept");
    const changed = await project.runningPid("changed");
    const removed = await project.runningPid("removed");
    await project.configure([
      project.entry("kept", { where: "config.yaml:9" }),
      project.entry("changed", { env: { EXTRA: "now" } }),
      project.entry("added"),
    ]);
    await project.runningPid("added");
    const anew = await project.runningPid("changed", [changed]);
    expect((await project.status("changed")).tail).toContain(
      `up ${anew} ws://localhost:1 ws://localhost:1 changed now`,
    );
    expect((await project.status("kept")).pids).toEqual([kept]);
    await vi.waitUntil(async () => (await findProcess(removed)) === undefined, TIMEOUT);
    await expect(project.engine.call("worker::status", { name: "removed" })).rejects.toMatchObject({
      code: "worker_not_found",
    });
  });

  it("is awaited by worker::wait for a name that is not configured yet", async () => {
    await project.writeWorker("w", { manifest: "name: w\n" });
    await project.start([]);
    const waiting = project.engine.call("worker::wait", { name: "w" });
    await project.configure([project.entry("w")]);
    expect(await waiting).toMatchObject({ name: "w", state: "failed" });
  });
});

/** Starts a process group as an earlier engine may have left it. Resolves when it prints its first line. */
async function startGroup(command: string): Promise<ProcessGroup> {
  let group: ProcessGroup | undefined;
  await new Promise((resolve) => {
    group = startProcessGroup({
      command,
      cwd: project.folder,
      env: { PATH: process.env.PATH ?? "", SVC_WORKER_NAME: "w" },
      capture({ stdout, stderr }) {
        stdout.once("data", resolve).resume();
        stderr.resume();
      },
    });
  });
  if (group === undefined) throw new Error("no group was started");
  return group;
}

const sessions: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of sessions.splice(0)) signalIfThere(-(pid ?? Number.NaN), "SIGKILL");
});

/** Starts a process in its own session with a run's marker, as a worker may. Resolves when it prints its first line. */
async function startSession(command: string, marker: string): Promise<ChildProcess> {
  const env = { PATH: process.env.PATH, [RUN_VARIABLE]: marker };
  const child = spawn("/bin/sh", ["-c", command], { detached: true, env, stdio: ["ignore", "pipe", "inherit"] });
  sessions.push(child);
  await once(child.stdout, "data");
  child.stdout.resume();
  return child;
}

describe("after an engine that was killed", () => {
  it("its processes are ended before new ones start, also when they ignore SIGTERM", async () => {
    await project.writeWorker("w");
    const former = await startGroup("trap '' TERM; echo up; while :; do sleep 1; done");
    const records = new RunRecords(join(project.folder, ".svc", "run", "workers"));
    await records.add("w", { group: former.id ?? 0, runId: former.runId });
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    expect(membersOf(former.id ?? -1, await listProcesses())).toEqual([]);
    expect(project.engine.logs.map(({ message }) => message)).toContain("processes left by an earlier engine ended");
  });

  it("processes that left its groups are ended, those of inner engines too, and those of other runs are left alone", async () => {
    await project.writeWorker("w");
    const [run, other] = [newRunId(), newRunId()];
    const group = await startSession("echo up; exec sleep 300", run);
    await new RunRecords(join(project.folder, ".svc", "run", "workers")).add("w", {
      group: group.pid ?? 0,
      runId: run,
    });
    const stubborn = "trap '' TERM; echo up; while :; do sleep 1; done";
    const left = [
      await startSession(stubborn, run),
      await startSession("echo up; exec sleep 300", markerOf(newRunId(), run)),
    ];
    const stranger = await startSession(stubborn, other);
    const groupEnded = once(group, "exit");
    group.kill("SIGKILL");
    await groupEnded;
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    for (const { pid } of left) expect(await identityOf(pid ?? 0)).toBeUndefined();
    expect(await identityOf(stranger.pid ?? 0)).toBeDefined();
    expect(project.engine.logs.map(({ message }) => message)).toContain("processes left by an earlier engine ended");
  });

  it("a group that only has the same number is left alone", async () => {
    const stranger = await startGroup("echo up; sleep 300");
    await mkdir(join(project.folder, ".svc", "run", "workers"), { recursive: true });
    const bootId = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    await writeFile(
      join(project.folder, ".svc", "run", "workers", `${stranger.id}.json`),
      JSON.stringify({ worker: "w", group: stranger.id, start_time: "1", boot_id: bootId }),
    );
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    expect(membersOf(stranger.id ?? -1, await listProcesses())).not.toEqual([]);
    await stranger.stop({ graceMs: 1_000 });
  });
});

describe("worker functions", () => {
  it("answer for modules too", async () => {
    await project.start([]);
    project.modules = [
      { name: "svc-state", state: "failed", reason: "the disk is full" },
      { name: "supervisor", state: "running" },
    ];
    expect(await project.engine.call("worker::status", { name: "svc-state" })).toMatchObject({
      kind: "module",
      state: "failed",
      reason: "the disk is full",
      pids: [],
      log_file: null,
    });
    expect(await project.engine.call("worker::wait", { name: "supervisor" })).toMatchObject({
      kind: "module",
      state: "ready",
      functions: ["inspect", "list", "logs", "restart", "start", "status", "stop", "update", "wait"].map(
        (what) => `worker::${what}`,
      ),
    });
    expect(
      ((await project.engine.call("worker::list")) as { workers: WorkerStatus[] }).workers.map(({ name }) => name),
    ).toEqual(["supervisor", "svc-state"]);
    await expect(project.engine.call("worker::restart", { name: "svc-state" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  it("name the known workers when one is unknown", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await expect(project.engine.call("worker::status", { name: "v" })).rejects.toMatchObject({
      code: "worker_not_found",
      message: "no worker is named v; known are w",
    });
    await expect(project.engine.call("worker::wait", { name: "v", timeout_ms: 50 })).rejects.toMatchObject({
      code: "worker_not_found",
    });
    await expect(project.engine.call("worker::status", {})).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("stop waiting when their caller goes", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await expect(project.engine.call("worker::wait", { name: "w" }, { timeoutMs: 100 })).rejects.toMatchObject({
      code: "call_timeout",
    });
  });
});
