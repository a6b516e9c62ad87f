import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { WorkerStatus } from "./index.ts";
import type { Inspection } from "./inspect-worker.ts";
import type { LogsOutput } from "./logs/read-logs.ts";
import { DEFAULT_SCRIPT, SupervisedProject, TIMEOUT } from "./testing/supervised-project.ts";

const project = new SupervisedProject();

describe("a worker that is stopped", () => {
  it("stays stopped over edits of its files and its entry, until it is started", async () => {
    await project.writeWorker("w");
    await project.writeWorker("other");
    await project.start([project.entry("w"), project.entry("other")]);
    const pid = await project.runningPid("w");
    const other = await project.runningPid("other");
    expect(await project.call("worker::stop", { name: "w" })).toMatchObject({ state: "stopping" });
    const stopped = await project.call("worker::wait", { name: "w", until: "stopped", timeout_ms: 9_000 });
    expect(stopped).toMatchObject({
      state: "stopped",
      pids: [],
      reason: "it was stopped; start it with `svc worker start w`",
    });
    for (const name of ["w", "other"]) await project.save(name, `echo edited\n${DEFAULT_SCRIPT}`);
    // The other worker shows that the edit was noticed.
    await project.runningPid("other", [other]);
    expect(await project.status("w")).toMatchObject({ state: "stopped", pids: [] });
    await project.configure([project.entry("w", { env: { EXTRA: "now" } }), project.entry("other")]);
    expect(await project.status("w")).toMatchObject({ state: "stopped", pids: [] });
    expect(await project.call("worker::start", { name: "w" })).toMatchObject({ state: "starting" });
    const next = await project.runningPid("w", [pid]);
    expect((await project.status("w")).tail).toContain(`up ${next} ws://localhost:1 ws://localhost:1 w now`);
  });

  it("is started by a restart as well, and starting one that runs changes nothing", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const pid = await project.runningPid("w");
    await project.connectAs("w", pid);
    await project.statusWith("w", ({ state }) => state === "ready");
    expect(await project.call("worker::start", { name: "w" })).toMatchObject({ state: "ready", pids: [pid] });
    await project.call("worker::stop", { name: "w" });
    await project.call("worker::restart", { name: "w" });
    expect(await project.runningPid("w", [pid])).not.toBe(pid);
  });

  it("while it installs ends the install", async () => {
    await project.writeWorker("w", {
      manifest:
        "name: w\nruntime: {kind: javascript}\nscripts: {install: echo begun; sleep 300, start: exec sh worker.sh}\n".replace(
          "echo begun; sleep 300",
          '"echo begun; sleep 300"',
        ),
    });
    await writeFile(join(project.folder, "w", "package.json"), "{}");
    await project.start([project.entry("w")]);
    await project.statusWith("w", ({ state, tail }) => state === "installing" && tail.includes("begun"));
    await project.call("worker::stop", { name: "w" });
    expect(await project.call("worker::wait", { name: "w", until: "stopped", timeout_ms: 9_000 })).toMatchObject({
      state: "stopped",
    });
  });
});

describe("a worker that crashed", () => {
  it("tells how it ended, with its last lines, and when it restarts; a start does not wait for that", async () => {
    await project.writeWorker("w", { script: "echo first >&2\necho last\nexit 3\n" });
    await project.start([project.entry("w")]);
    const down = await project.statusWith("w", ({ state, restarts }) => state === "backing_off" && restarts > 0);
    expect(down.last_exit).toMatchObject({ code: 3, signal: null });
    // Lines of the process that ended, not of earlier ones.
    expect(down.last_exit?.lines.toSorted()).toEqual(["first", "last"]);
    expect(Date.parse(down.next_start_at ?? "")).toBeGreaterThan(Date.parse(down.last_exit?.at ?? ""));
    await project.writeWorker("w");
    await project.call("worker::start", { name: "w" });
    await project.runningPid("w");
    expect((await project.status("w")).next_start_at).toBeNull();
  });
});

describe("worker::update", () => {
  it("installs although nothing changed, and then starts the worker anew", async () => {
    await project.writeWorker("w", {
      manifest:
        'name: w\nruntime: {kind: javascript}\nscripts: {install: "echo installing", start: exec sh worker.sh}\n',
    });
    await project.start([project.entry("w", { watch: false })]);
    const pid = await project.runningPid("w");
    expect(await project.call<WorkerStatus>("worker::update", { name: "w" })).toMatchObject({ state: "installing" });
    await project.runningPid("w", [pid]);
    const { lines } = await project.call<LogsOutput>("worker::logs", { name: "w", stream: "install" });
    expect(lines.filter(({ text }) => text === "installing")).toHaveLength(2);
  });
});

describe("worker::logs", () => {
  it("tells lines with time and stream, and waits for the next ones", async () => {
    await project.writeWorker("w", {
      script: "echo up $$ now\necho problem >&2\nwhile [ ! -f go ]; do sleep 0.05; done\necho later\nexec sleep 300\n",
    });
    await project.start([project.entry("w", { watch: false })]);
    await project.runningPid("w");
    const first = await vi.waitUntil(async () => {
      const read = await project.call<LogsOutput>("worker::logs", { name: "w" });
      return read.lines.some(({ text }) => text === "problem") ? read : undefined;
    }, TIMEOUT);
    expect(first.lines.find(({ text }) => text === "problem")).toMatchObject({ stream: "err", replica: null });
    expect(first.log_file).toBe(join(project.folder, ".svc", "logs", "w.log"));
    const waiting = project.call<LogsOutput>("worker::logs", {
      name: "w",
      cursor: first.cursor,
      stream: "out",
      wait_ms: 9_000,
    });
    await writeFile(join(project.folder, "w", "go"), "");
    expect((await waiting).lines.map(({ text }) => text)).toEqual(["later"]);
  });

  it("tells that lines behind the cursor are lost", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    const whole = await vi.waitUntil(async () => {
      const read = await project.call<LogsOutput>("worker::logs", { name: "w" });
      return read.lines.some(({ text }) => text.startsWith("up ")) ? read : undefined;
    }, TIMEOUT);
    expect(whole.gap).toBe(false);
    const file = join(project.folder, ".svc", "logs", "w.log");
    await writeFile(file, "2026-01-01T00:00:00.000Z out later\n");
    const after = await project.call<LogsOutput>("worker::logs", { name: "w", cursor: whole.cursor, stream: "out" });
    expect(after).toMatchObject({ lines: [{ text: "later" }], gap: true });
    expect(await project.call<LogsOutput>("worker::logs", { name: "w", cursor: after.cursor })).toMatchObject({
      gap: false,
    });
  });

  it("answers without lines when none come in time", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await project.runningPid("w");
    const { cursor } = await project.call<LogsOutput>("worker::logs", { name: "w", tail: 0 });
    expect(
      await project.call<LogsOutput>("worker::logs", { name: "w", cursor, stream: "install", wait_ms: 50 }),
    ).toMatchObject({ lines: [] });
  });
});

describe("worker::inspect", () => {
  it("tells how the worker is run, without its secrets", async () => {
    await project.writeWorker("w", {
      manifest:
        "name: w\nruntime: {kind: javascript}\nenv: {MODE: fast, API_TOKEN: hush}\nscripts: {install: 'true', start: exec sh worker.sh}\n",
    });
    await project.start([project.entry("w", { env: { DATABASE_URL: "postgres://me:hush@db/x" }, replicas: 2 })]);
    await project.runningPid("w");
    const found = await project.call<Inspection>("worker::inspect", { name: "w" });
    expect(found).toMatchObject({
      ...{ name: "w", folder: join(project.folder, "w"), manifest_file: join(project.folder, "w", "svc.worker.yaml") },
      ...{ kind: "javascript", install: "true", start: "exec sh worker.sh", replicas: 2 },
      env: { MODE: "fast", API_TOKEN: "***", DATABASE_URL: "postgres://***@db/x" },
    });
    expect(found.installed_at).not.toBeNull();
  });

  it("says what is wrong with the manifest", async () => {
    await project.writeWorker("w", { manifest: "name: w\n" });
    await project.start([project.entry("w")]);
    await expect(project.call("worker::inspect", { name: "w" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("runtime"),
    });
    await rm(join(project.folder, "w"), { recursive: true });
  });
});

describe("worker functions", () => {
  it("tell each process with what it uses", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { replicas: 2 })]);
    const first = await project.runningPid("w");
    const second = await project.runningPid("w", [first]);
    await project.connectAs("w", first);
    await project.statusWith("w", ({ replicas }) => replicas.some(({ state }) => state === "ready"));
    const { replicas, memory_bytes, cpu_percent } = await project.status("w");
    expect(replicas.map(({ index, pid }) => ({ index, pid })).sort((a, b) => a.index - b.index)).toEqual(
      expect.arrayContaining([expect.objectContaining({ pid: first }), expect.objectContaining({ pid: second })]),
    );
    expect(memory_bytes).toBeGreaterThan(100_000);
    expect(cpu_percent).toBeGreaterThanOrEqual(0);
  });

  it("list connected workers of no entry when asked to", async () => {
    await project.start([]);
    await project.connectAs("far-away");
    const { workers } = await project.call<{ readonly workers: readonly WorkerStatus[] }>("worker::list", {
      include_remote: true,
    });
    expect(workers).toContainEqual(
      expect.objectContaining({
        name: "far-away",
        kind: "remote",
        state: "ready",
        functions: ["far-away::hello"],
        pids: [],
      }),
    );
    expect(await project.call("worker::list", {})).toEqual({ workers: [] });
    await expect(project.call("worker::stop", { name: "far-away" })).rejects.toMatchObject({
      code: "worker_not_found",
      message: "far-away is connected, but not in the config file: start and stop it where it runs",
    });
  });

  it("name the nearest worker, and refuse what a module has not", async () => {
    await project.writeWorker("billing");
    await project.start([project.entry("billing")]);
    project.modules = [{ name: "svc-state", state: "running" }];
    await expect(project.call("worker::stop", { name: "biling" })).rejects.toMatchObject({
      code: "worker_not_found",
      message: "no worker is named biling; did you mean billing?",
    });
    for (const what of ["start", "stop", "restart", "update", "logs", "inspect"])
      await expect(project.call(`worker::${what}`, { name: "svc-state" })).rejects.toMatchObject({
        code: "invalid_input",
      });
    await expect(project.call("worker::stop", { name: "billing", force: true })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });
});
