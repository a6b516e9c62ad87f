import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defineModule } from "../../kernel/module.ts";
import { defaultEnvFile } from "../../local-workers/env-file.ts";
import { findProcess } from "../../local-workers/process-table.ts";
import type { WorkerStatus } from "./index.ts";
import { DEFAULT_SCRIPT, SupervisedProject, TIMEOUT } from "./testing/supervised-project.ts";

const project = new SupervisedProject();

const edited = (what: string): string => `echo edited ${what}\n${DEFAULT_SCRIPT}`;
const save = (script: string, name = "w"): Promise<void> => project.save(name, script);
/** The process that replaces another one. */
const startingIn = ({ replicas }: WorkerStatus): number | undefined =>
  replicas.find(({ state, pid }) => state === "starting" && pid !== null)?.pid ?? undefined;
const statesOf = ({ replicas }: WorkerStatus): string[] => replicas.map(({ index, state }) => `${index} ${state}`);
const isGone = (pid: number): Promise<void> =>
  vi.waitFor(async () => expect(await findProcess(pid)).toBeUndefined(), TIMEOUT);

/** Connects as each process that is starting and not in `known`, until all are ready and none is in `gone`. Returns their pids. */
async function ready({
  name = "w",
  known = [],
  gone = [],
}: {
  name?: string;
  known?: readonly number[];
  gone?: readonly number[];
} = {}): Promise<number[]> {
  const connected = new Set(known);
  const found = await project.statusWith(name, ({ state, replicas }) => {
    for (const { state: one, pid } of replicas) {
      if (one !== "starting" || pid === null || connected.has(pid)) continue;
      connected.add(pid);
      void project.connectAs(name, pid);
    }
    return state === "ready" && replicas.every(({ pid }) => pid !== null && !gone.includes(pid));
  });
  return found.replicas.flatMap(({ pid }) => pid ?? []);
}

/** Resolves with a new process that is not in `former` and has not connected. */
async function replacing(
  former: readonly number[] = [],
): Promise<{ readonly status: WorkerStatus; readonly next: number }> {
  const status = await project.statusWith(
    "w",
    (found) => found.state === "replacing" && ![undefined, ...former].includes(startingIn(found)),
  );
  return { status, next: startingIn(status) ?? 0 };
}

describe("a worker that is replaced (P-5)", () => {
  it.each([
    ["its files change", () => save(edited("once"))],
    ["a restart is asked for", () => project.call("worker::restart", { name: "w" })],
  ])(
    "serves until its new process is ready when %s, and is not ready before its former one has ended",
    async (_, change) => {
      await project.writeWorker("w");
      await project.start([project.entry("w")]);
      const [former = 0] = await ready();
      await change();
      const { status, next } = await replacing();
      expect(status.reason).toBe("a new process is starting; the former one serves until it is ready");
      expect(statesOf(status)).toEqual(["1 ready", "1 starting"]);
      expect(status).toMatchObject({
        functions: ["w::hello"],
        ready_at: null,
        problem: null,
        pids: expect.arrayContaining([former, next]) as number[],
      });
      const waiting = project.call("worker::wait", { name: "w", timeout_ms: 9_000 });
      await project.connectAs("w", next);
      expect(await waiting).toMatchObject({ state: "ready", reason: null, pids: [next], restarts: 0, last_exit: null });
      expect(await findProcess(former)).toBeUndefined();
    },
  );

  it("gets the calls when its new process is ready, and has the former one stopped after its last call", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const { pids } = await project.statusWith("w", (status) => startingIn(status) !== undefined);
    const [former = 0] = pids;
    const old = await project.connectAs("w", former);
    const ends: (() => void)[] = [];
    old.serve("w::slow", () => new Promise((resolve) => ends.push(() => resolve("old"))));
    await ready({ known: pids });
    const slow = project.call("w::slow", {});
    await vi.waitFor(() => expect(ends).toHaveLength(1), TIMEOUT);
    await save(edited("once"));
    const { next } = await replacing();
    const worker = await project.engine.connectWorker({ name: "w", pid: next });
    worker.serve("w::hello", () => "new");
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect(project.engine.directory.functionById("w::hello")?.workers).toHaveLength(2);
    for (let call = 0; call < 4; call++) expect(await project.call("w::hello", {})).toBe("hi");
    await project.statusWith("w", ({ replicas }) => replicas.some(({ state }) => state === "stopping"));
    for (let call = 0; call < 4; call++) expect(await project.call("w::hello", {})).toBe("new");
    expect(await findProcess(former)).toBeDefined();
    ends[0]?.();
    expect(await slow).toBe("old");
    await isGone(former);
  });

  it.each(["cli", "console"])("does not keep a connection of kind %s on standby", async (kind) => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await ready();
    await save(edited("once"));
    await replacing();
    const other = await project.engine.connectWorker({ kind });
    other.say({ type: "registertrigger", id: "t", trigger_type: "none", function_id: "f", config: {} });
    await vi.waitFor(
      () => expect(project.engine.directory.triggerById("t")?.reason).toContain("no one provides"),
      TIMEOUT,
    );
  });

  it("is not ready while its former process finishes its calls", async () => {
    await project.writeWorker("w", {
      script: "trap '' TERM\necho up $$ here\nwhile [ ! -f go ]; do sleep 0.05; done\n",
    });
    await project.start([project.entry("w", { watch: { include: [], ignore: ["go"] } })]);
    const [former = 0] = await ready();
    await save(edited("once"));
    const { next } = await replacing();
    await project.connectAs("w", next);
    const status = await project.statusWith("w", ({ replicas }) => replicas.some(({ state }) => state === "stopping"));
    expect(status).toMatchObject({
      state: "replacing",
      reason: "the new process is ready; the former one finishes its calls",
    });
    expect(statesOf(status)).toEqual(["1 stopping", "1 ready"]);
    await writeFile(join(project.folder, "w", "go"), "");
    expect(await ready({ gone: [former] })).toEqual([next]);
  });

  it("has its replicas replaced one after another", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { replicas: 2 })]);
    const former = await ready();
    await save(edited("once"));
    const first = await replacing();
    expect(first.status.reason).toBe(
      "process #1 of 2: a new process is starting; the former one serves until it is ready",
    );
    expect(statesOf(first.status)).toEqual(["1 ready", "1 starting", "2 ready"]);
    await project.connectAs("w", first.next);
    const second = await replacing([first.next]);
    expect(second.status.reason).toMatch(/^process #2 of 2: a new process/);
    expect(statesOf(second.status)).toEqual(["1 ready", "2 ready", "2 starting"]);
    await project.connectAs("w", second.next);
    expect(await ready()).toEqual([first.next, second.next]);
    for (const pid of former) await isGone(pid);
  });

  it("keeps its count of restarts after a crash, and restarts when its new process crashes", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const [first = 0] = await ready();
    process.kill(first, "SIGKILL");
    const [second = 0] = await ready({ gone: [first] });
    await save(edited("once"));
    const { next } = await replacing();
    await project.connectAs("w", next);
    await project.statusWith("w", ({ state, pids }) => state === "ready" && !pids.includes(second));
    expect(await project.status("w")).toMatchObject({ restarts: 1, last_exit: { signal: "SIGKILL" } });
    process.kill(next, "SIGKILL");
    const down = await project.statusWith("w", ({ state }) => state === "backing_off");
    expect(down.reason).toBe("it was ended by SIGKILL and restarts at once");
    await project.statusWith("w", ({ restarts }) => restarts === 2);
  });

  it("gets the variables that its .env holds now", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { envFiles: [defaultEnvFile(join(project.folder, "w"))] })]);
    await ready();
    await writeFile(join(project.folder, "w", ".env"), "EXTRA=edited\n");
    const { next } = await replacing();
    await project.runningPid(
      "w",
      (await project.status("w")).pids.filter((pid) => pid !== next),
    );
    expect((await project.status("w")).tail).toContain(`up ${next} ws://localhost:1 ws://localhost:1 w edited`);
  });

  it("has the bindings withdrawn that only its former process had, also when that did not withdraw them", async () => {
    await project.writeWorker("w");
    const ticks = defineModule({
      ...{ name: "ticks", summary: "Provides a trigger type", config: z.object({}) },
      start(context) {
        context.provideTrigger({ type: "tick", summary: "Never fires", settings: z.object({}), bind: () => () => {} });
        return { stop: () => {} };
      },
    });
    await project.start([project.entry("w")], { others: [ticks] });
    const { pids } = await project.statusWith("w", (status) => startingIn(status) !== undefined);
    const old = await project.connectAs("w", pids[0]);
    old.say({ type: "registertrigger", id: "old", trigger_type: "tick", function_id: "w::hello", config: {} });
    await ready({ known: pids });
    await save(edited("once"));
    const { next } = await replacing();
    await project.connectAs("w", next);
    expect(project.engine.directory.triggers().map(({ id }) => id)).toContain("old");
    await ready({ known: [next] });
    expect(project.engine.directory.triggers().map(({ id }) => id)).not.toContain("old");
  });

  it("does not restart what depends on it, and holds up no start of that", async () => {
    for (const name of ["w", "api", "late"]) await project.writeWorker(name);
    const dependent = { dependsOn: ["w"] };
    await project.start([project.entry("w"), project.entry("api", dependent)]);
    await ready();
    const api = await project.runningPid("api");
    await save(edited("once"));
    const { next } = await replacing();
    await project.configure([project.entry("w"), project.entry("api", dependent), project.entry("late", dependent)]);
    await project.runningPid("late");
    await project.connectAs("w", next);
    await ready({ known: [next] });
    expect((await project.status("api")).pids).toEqual([api]);
  });
});

describe("while a worker is replaced", () => {
  it("a further change starts a newer process; the former one serves until that is ready", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const [former = 0] = await ready();
    await save(edited("once"));
    const { next } = await replacing();
    await save(edited("twice"));
    const newer = await replacing([next]);
    expect(newer.status.pids).toEqual(expect.arrayContaining([former]));
    await isGone(next);
    await project.connectAs("w", newer.next);
    expect(await ready({ known: [newer.next] })).toEqual([newer.next]);
    expect(await project.status("w")).toMatchObject({ last_exit: null, restarts: 0, problem: null });
    await isGone(former);
  });

  it("a crash of the former process makes the new one its successor at once", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const [former = 0] = await ready();
    await save(edited("once"));
    const { next } = await replacing();
    process.kill(former, "SIGKILL");
    const alone = await project.statusWith("w", ({ last_exit }) => last_exit !== null);
    expect(alone).toMatchObject({
      state: "replacing",
      reason: "the former process has ended; the new one is starting",
      pids: [next],
    });
    await project.connectAs("w", next);
    expect(await ready({ known: [next] })).toEqual([next]);
    expect(await project.status("w")).toMatchObject({ restarts: 0, last_exit: { signal: "SIGKILL" } });
  });

  it("worker::stop ends both processes", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await ready();
    await save(edited("once"));
    const { status } = await replacing();
    await project.call("worker::stop", { name: "w" });
    expect(await project.call("worker::wait", { name: "w", until: "stopped" })).toMatchObject({
      state: "stopped",
      pids: [],
    });
    for (const pid of status.pids) expect(await findProcess(pid)).toBeUndefined();
    await project.call("worker::start", { name: "w" });
    expect(await ready({ gone: status.pids })).toHaveLength(1);
  });

  it("the stop of the engine ends both processes", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    await ready();
    await save(edited("once"));
    const { status } = await replacing();
    await project.engine.stop();
    expect(status.pids).toHaveLength(2);
    for (const pid of status.pids) expect(await findProcess(pid)).toBeUndefined();
  });
});

describe("a new process that does not become ready", () => {
  it("leaves the former one running, and the status says why; the next good change is used", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const [former = 0] = await ready();
    await save("echo 'SyntaxError: invalid syntax' >&2\nexit 3\n");
    const failed = await project.statusWith("w", ({ problem }) => problem !== null);
    expect(failed).toMatchObject({
      ...{ state: "ready", pids: [former], functions: ["w::hello"], restarts: 0 },
      problem: "its new process ended with exit code 3 (SyntaxError: invalid syntax) before it was ready",
      last_exit: { code: 3, lines: ["SyntaxError: invalid syntax"] },
    });
    expect(failed.reason).toBe(`${failed.problem}\nThe previous processes keep running.`);
    expect(failed.tail.slice(-2)).toEqual([failed.problem, "the previous processes keep running"]);
    await save(edited("well"));
    const { next } = await replacing();
    await project.connectAs("w", next);
    expect(await ready({ known: [next] })).toEqual([next]);
    expect(await project.status("w")).toMatchObject({ problem: null, reason: null });
  });

  it("leaves the replicas that were replaced before it as they are, and says so", async () => {
    const failsSecond = `if [ -f replaced ]; then exit 4; fi\ntouch replaced\n${DEFAULT_SCRIPT}`;
    await project.writeWorker("w");
    await project.start([project.entry("w", { replicas: 2, watch: { include: [], ignore: ["replaced"] } })]);
    const [, second = 0] = await ready();
    await save(failsSecond);
    const { next } = await replacing();
    await project.connectAs("w", next);
    const failed = await project.statusWith("w", ({ problem }) => problem !== null);
    expect(failed.problem).toBe(
      "its new process#2 ended with exit code 4 before it was ready; 1 of 2 processes were already replaced",
    );
    expect(failed.replicas.map(({ pid }) => pid)).toEqual([next, second]);
  });

  it("because it uses too much memory leaves the former one running", async () => {
    const limits = { memoryBytes: 200 * 2 ** 20, cpu: undefined };
    await project.writeWorker("w");
    await project.start([project.entry("w", { limits })]);
    const [former = 0] = await ready();
    await save("exec node -e 'const held = []; setInterval(() => held.push(Buffer.alloc(16e6, 1)), 20)'\n");
    const failed = await project.statusWith("w", ({ problem }) => problem !== null);
    expect(failed.problem).toMatch(
      /^its new process used \d+ MiB of memory, more than its limit of 200 MiB, and was ended before it was ready$/,
    );
    expect(failed).toMatchObject({ state: "ready", pids: [former] });
  });

  it("is no longer reported once the former one has crashed, which is then started with the changed files", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w")]);
    const [former = 0] = await ready();
    await save("exit 3\n");
    await project.statusWith("w", ({ problem }) => problem !== null);
    process.kill(former, "SIGKILL");
    const down = await project.statusWith("w", ({ state, restarts }) => state === "backing_off" && restarts > 0);
    expect(down).toMatchObject({
      problem: null,
      reason: expect.stringMatching(/^it ended with exit code 3/) as string,
    });
  });

  it("because its port is in use is started after the former one has ended, now and for later changes", async () => {
    const alone = (what: string): string =>
      `mkdir port 2>/dev/null || { echo 'Error: listen EADDRINUSE: address already in use :::8080' >&2; exit 1; }\ntrap 'rmdir port; exit 0' TERM\necho ${what}\necho up $$ here\nwhile :; do sleep 0.05; done\n`;
    await project.writeWorker("w", { script: alone("first") });
    await project.start([project.entry("w")]);
    const [first = 0] = await ready();
    await save(alone("second"));
    const [second = 0] = await ready({ gone: [first] });
    expect(await findProcess(first)).toBeUndefined();
    const { tail } = await project.status("w");
    expect(tail).toContain("the port is in use: from now on, processes are stopped before new ones start");
    await save(alone("third"));
    await ready({ gone: [first, second] });
    const log = await readFile(join(project.folder, ".svc", "logs", "w.log"), "utf8");
    expect(log.match(/ err Error: listen EADDRINUSE/g)).toHaveLength(1);
  });
});

describe("stop, then start", () => {
  it("is used with overlap: false", async () => {
    await project.writeWorker("w");
    await project.start([project.entry("w", { overlap: false })]);
    const [former = 0] = await ready();
    expect(await project.call("worker::restart", { name: "w" })).toMatchObject({ state: "stopping" });
    const next = await project.statusWith("w", (status) => startingIn(status) !== undefined);
    expect(next.replicas).toHaveLength(1);
    expect(await findProcess(former)).toBeUndefined();
  });

  it.each([
    { what: "a change", isWatched: true, whileInstalling: "ready" },
    { what: "a restart", isWatched: false, whileInstalling: "stopped" },
  ])("is used when $what installs packages", async ({ isWatched, whileInstalling }) => {
    const manifest = (install: string): string =>
      `name: w\nruntime: {kind: javascript}\nscripts: {install: "${install}", start: exec sh worker.sh}\n`;
    await project.writeWorker("w", { manifest: manifest("true") });
    await project.start([project.entry("w", isWatched ? {} : { watch: false })]);
    const [former = 0] = await ready();
    await writeFile(
      join(project.folder, "w", "svc.worker.yaml"),
      manifest("while [ ! -f node_modules/go ]; do sleep 0.05; done"),
    );
    if (!isWatched) await project.call("worker::restart", { name: "w" });
    const installing = await project.statusWith("w", ({ state }) => state === "installing");
    expect(installing.replicas.map(({ state }) => state)).toEqual([whileInstalling]);
    await mkdir(join(project.folder, "w", "node_modules"), { recursive: true });
    await writeFile(join(project.folder, "w", "node_modules", "go"), "");
    const next = await project.statusWith(
      "w",
      (status) => startingIn(status) !== undefined && startingIn(status) !== former,
    );
    expect(next.replicas).toHaveLength(1);
    expect(await findProcess(former)).toBeUndefined();
  });

  it("is not used for a compiled worker, whose former process keeps its program", async () => {
    const manifest =
      "name: w\nruntime: {kind: go}\nscripts: {install: cp worker.sh built.sh, start: exec sh built.sh}\n";
    await project.writeWorker("w", { manifest });
    await project.start([project.entry("w", { watch: { include: [], ignore: ["built.sh"] } })]);
    const [former = 0] = await ready();
    await save(edited("once"));
    const { status, next } = await replacing();
    expect(status.pids).toEqual(expect.arrayContaining([former, next]));
    await project.connectAs("w", next);
    await ready({ known: [next] });
  });
});
