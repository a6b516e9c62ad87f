import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stopOrder } from "./dependencies.ts";
import type { LogsOutput } from "./logs/read-logs.ts";
import { SupervisedProject } from "./testing/supervised-project.ts";

const project = new SupervisedProject();

describe("a worker that depends on others", () => {
  it("is started when they are ready, and says until then what it waits for", async () => {
    await project.writeWorker("db");
    await project.writeWorker("api");
    await project.start([project.entry("api", { dependsOn: ["db", "svc-state"] }), project.entry("db")]);
    project.modules = [{ name: "svc-state", state: "running" }];
    const db = await project.runningPid("db");
    const waiting = await project.statusWith("api", ({ reason }) => reason === "waiting for db, which is starting");
    expect(waiting).toMatchObject({ state: "starting", waits_for: ["db"], pids: [] });
    await project.connectAs("db", db);
    await project.runningPid("api");
    expect(await project.status("api")).toMatchObject({ waits_for: [], reason: null });
  });

  it("says that what it waits for cannot start, and why; a stop ends the waiting", async () => {
    await project.writeWorker("db", { manifest: "name: db\n" });
    await project.writeWorker("api");
    await project.start([project.entry("api", { dependsOn: ["db"] }), project.entry("db")]);
    const waiting = await project.statusWith(
      "api",
      ({ reason }) => reason?.startsWith("waiting for db, which is failed (") === true,
    );
    expect(waiting.reason).toContain("svc.worker.yaml");
    await project.call("worker::stop", { name: "api" });
    expect(await project.call("worker::wait", { name: "api", until: "stopped" })).toMatchObject({
      state: "stopped",
      waits_for: [],
    });
  });

  it("is not stopped when they crash later, and not held up by them when it is restarted by an edit", async () => {
    await project.writeWorker("db");
    await project.writeWorker("api");
    await project.start([project.entry("api", { dependsOn: ["db"] }), project.entry("db", { watch: false })]);
    const db = await project.runningPid("db");
    await project.connectAs("db", db);
    const api = await project.runningPid("api");
    await project.save("db", "exit 1\n");
    process.kill(db, "SIGKILL");
    await project.statusWith("db", ({ restarts }) => restarts > 0);
    expect((await project.status("api")).pids).toEqual([api]);
    await project.save("api", "echo up $$ again\nexec sleep 300\n");
    await project.runningPid("api", [api]);
  });

  it("is stopped before them", async () => {
    const script = (name: string): string =>
      `trap 'echo ended ${name} $(date +%s%N) >> ../order; exit 0' TERM\necho up $$ here\nwhile :; do sleep 0.05; done\n`;
    for (const name of ["db", "api", "web"]) await project.writeWorker(name, { script: script(name) });
    const entries = [
      project.entry("db"),
      project.entry("api", { dependsOn: ["db"] }),
      project.entry("web", { dependsOn: ["api"] }),
    ];
    await project.start(entries);
    for (const name of ["db", "api"]) await project.connectAs(name, await project.runningPid(name));
    await project.runningPid("web");
    await project.engine.stop();
    const order = (await readFile(join(project.folder, "order"), "utf8")).trim().split("\n");
    expect(order.map((line) => line.split(" ")[1])).toEqual(["web", "api", "db"]);
  });
});

describe("workers that are stopped with the engine", () => {
  it("have the time that those before them did not need, however many depend on each other", async () => {
    const slow = project.command(
      "last",
      "trap 'sleep 1.5; echo ended > ended; exit 0' TERM; echo up $$ here; while :; do sleep 0.05; done",
    );
    const others = Array.from({ length: 9 }, (_, index) => project.command(`c${index}`, "exec sleep 300"));
    await project.start([], { commands: [slow, ...others] });
    await project.runningPid("last");
    // Each depends on the next, so that they are ten groups.
    const chain = [...others, slow].map((entry, index, all) => ({
      ...entry,
      dependsOn: all.slice(index + 1, index + 2).map(({ name }) => name),
    }));
    await project.configure([], chain);
    await project.engine.stop();
    expect(await readFile(join(project.folder, "ended"), "utf8")).toBe("ended\n");
  });
});

describe("a command of svc-exec (gap 72)", () => {
  it("runs beside the workers with its folder and environment, is listed and logged, and comes back when it fails", async () => {
    const seen = project.command(
      "seen",
      "echo up $$ in $PWD with $MODE; while [ ! -f go ]; do sleep 0.05; done; rm go; exit 7",
      { env: { MODE: "fast" } },
    );
    await project.start([], { commands: [seen] });
    const pid = await project.runningPid("seen");
    expect(await project.call("worker::wait", { name: "seen" })).toMatchObject({
      kind: "command",
      state: "ready",
      reason: null,
    });
    const { lines } = await project.call<LogsOutput>("worker::logs", { name: "seen", stream: "out" });
    expect(lines.map(({ text }) => text)).toEqual([`up ${pid} in ${project.folder} with fast`]);
    expect(await project.call("worker::inspect", { name: "seen" })).toMatchObject({
      manifest_file: null,
      env: { MODE: "fast" },
      watch: false,
    });
    await writeFile(join(project.folder, "go"), "");
    const again = await project.statusWith("seen", ({ restarts, pids }) => restarts === 1 && pids.length > 0);
    expect(again.last_exit).toMatchObject({ code: 7 });
  });

  it("that ends with 0 has done its work, and what depends on it is started then", async () => {
    const migrate = project.command("migrate", "while [ ! -f go ]; do sleep 0.05; done; echo migrated", {
      restart: "never",
    });
    await project.writeWorker("api");
    await project.start([project.entry("api", { dependsOn: ["migrate"] })], { commands: [migrate] });
    await project.statusWith("api", ({ reason }) => reason === "waiting for migrate, which has not ended yet");
    await writeFile(join(project.folder, "go"), "");
    await project.runningPid("api");
    expect(await project.status("migrate")).toMatchObject({
      state: "stopped",
      reason: "it ended with exit code 0",
      restarts: 0,
    });
    await project.call("worker::start", { name: "migrate" });
    await project.statusWith("migrate", ({ tail }) => tail.filter((line) => line === "migrated").length === 2);
  });

  it("is restarted for the files that its watch includes, gracefully", async () => {
    const script = "trap 'echo bye; exit 0' TERM; echo up $$ here; while :; do sleep 0.05; done";
    await project.start([], {
      commands: [project.command("dev", script, { watch: { include: ["src/**/*.ts"], ignore: [] } })],
    });
    const pid = await project.runningPid("dev");
    await mkdir(join(project.folder, "src", "deep"), { recursive: true });
    await writeFile(join(project.folder, "src", "deep", "a.md"), "not this");
    await writeFile(join(project.folder, "src", "deep", "a.ts"), "this");
    await project.runningPid("dev", [pid]);
    const { tail } = await project.status("dev");
    expect(tail.filter((line) => line.startsWith("changed: "))).toEqual(["changed: src/deep/a.ts"]);
    expect(tail).toContain("bye");
  });

  it("is watched from the time that its folder is there", async () => {
    const later = join(project.folder, "later");
    const entry = project.command("dev", "echo up $$ here; exec sleep 300", {
      path: later,
      watch: { include: [], ignore: [] },
    });
    await project.start([], { commands: [entry] });
    await project.statusWith("dev", ({ state }) => state === "backing_off");
    await mkdir(later);
    await writeFile(join(later, "a.ts"), "1");
    const changes = (tail: readonly string[]): number => tail.filter((line) => line === "changed: a.ts").length;
    await project.statusWith("dev", ({ tail }) => changes(tail) === 1);
    const pid = await project.runningPid("dev");
    await writeFile(join(later, "a.ts"), "2");
    await project.statusWith("dev", ({ tail }) => changes(tail) === 2);
    await project.runningPid("dev", [pid]);
  });
});

describe("limits", () => {
  it("of memory end a worker that goes over them, which counts as a crash; of processor time are said not to hold", async () => {
    const greedy = "exec node -e 'const held = []; setInterval(() => held.push(Buffer.alloc(16e6, 1)), 20)'";
    const limits = { memoryBytes: 200 * 2 ** 20, cpu: 0.5 };
    await project.start([], {
      commands: [
        project.command("greedy", greedy, { limits }),
        project.command("modest", "exec sleep 300", { limits }),
      ],
    });
    const down = await project.statusWith("greedy", ({ last_exit }) => last_exit !== null);
    expect(down.last_exit).toMatchObject({ code: null, signal: "SIGKILL" });
    const { lines } = await project.call<LogsOutput>("worker::logs", { name: "greedy", stream: "svc" });
    expect(lines.map(({ text }) => text).join("\n")).toMatch(
      /process used \d+ MiB of memory, more than its limit of 200 MiB, and was ended and restarts/,
    );
    expect(await project.status("modest")).toMatchObject({
      restarts: 0,
      reason: expect.stringContaining("limits.cpu is not enforced"),
    });
    expect(await project.call("worker::inspect", { name: "modest" })).toMatchObject({
      limits: { memory_bytes: limits.memoryBytes, cpu: 0.5, not_enforced: expect.stringContaining("limits.cpu") },
    });
  });
});

describe("the stream svc.local_workers", () => {
  it("tells how each worker is as it changes", async () => {
    await project.start([], {
      commands: [project.command("once", "while [ ! -f go ]; do sleep 0.05; done", { restart: "never" })],
    });
    const socket = project.engine.openSocket("/");
    socket.send(
      JSON.stringify({ type: "join", data: { subscriptionId: "s", streamName: "svc.local_workers", groupId: "all" } }),
    );
    const seen: unknown[] = [];
    const take = (): string => {
      seen.push(...socket.take());
      return JSON.stringify(seen);
    };
    await project.statusWith("once", ({ state }) => state === "ready" && take().includes('"state":"ready"'));
    expect(seen[0]).toMatchObject({ event: { type: "sync", data: [{ id: "once", name: "once", kind: "command" }] } });
    await writeFile(join(project.folder, "go"), "");
    await project.statusWith("once", () => take().includes('"it ended with exit code 0"'));
    await project.configure([], []);
    await project.call("worker::list", {});
    await expect.poll(take).toContain('"type":"delete"');
  });
});

describe("the order of stopping", () => {
  it("puts what depends on others first, and together what does not touch", () => {
    const entries = [
      { name: "db", dependsOn: ["svc-state"] },
      { name: "api", dependsOn: ["db", "cache"] },
      { name: "cache", dependsOn: [] },
      { name: "web", dependsOn: ["api"] },
      { name: "alone", dependsOn: [] },
    ];
    expect(stopOrder(entries)).toEqual([["web", "alone"], ["api"], ["db", "cache"]]);
  });
});
