import { describe, expect, it } from "vitest";
import { SupervisedProject } from "./testing/supervised-project.ts";

const project = new SupervisedProject();

const manifest = (install: string): string =>
  `name: w\nruntime: {kind: javascript}\nscripts: {install: ${JSON.stringify(install)}, start: exec sh worker.sh}\n`;
const write = (name: string, text: string): Promise<void> => project.save("w", text, name);

describe("a change that cannot be used", () => {
  it("is told of a worker that runs on, apart from what else there is to say of it", async () => {
    await project.writeWorker("w", { manifest: manifest("true") });
    await project.start([project.entry("w", { watch: false, limits: { memoryBytes: undefined, cpu: 1 } })]);
    const pid = await project.runningPid("w");
    await project.connectAs("w", pid);
    const before = await project.statusWith("w", ({ state }) => state === "ready");
    expect(before).toMatchObject({ reason: expect.stringContaining("limits.cpu is not enforced"), problem: null });
    await write("svc.worker.yaml", manifest("echo no such package; exit 3"));
    await project.call("worker::update", { name: "w" });
    const after = await project.statusWith("w", ({ problem }) => problem !== null);
    expect(after).toMatchObject({ state: "ready", pids: [pid], problem: expect.stringContaining("no such package") });
    expect(after.reason).toBe(`${after.problem}\nThe previous processes keep running.`);
    await write("svc.worker.yaml", manifest("true"));
    await project.call("worker::update", { name: "w" });
    await project.runningPid("w", [pid]);
    expect(await project.status("w")).toMatchObject({ problem: null });
  });

  it.each([
    ["manifest", "name: w\nruntime: {kind: javascript}\n", "scripts.start"],
    ["install", manifest("echo no such package; exit 3"), "no such package"],
  ])("fails a worker that waits to be started again, and says what is wrong with the %s", async (_, text, problem) => {
    await project.writeWorker("w", { manifest: manifest("true"), script: "exit 1\n" });
    await project.start([project.entry("w")]);
    await project.statusWith("w", ({ state, restarts }) => state === "backing_off" && restarts > 0);
    await write("svc.worker.yaml", text);
    const failed = await project.statusWith("w", ({ state }) => state === "failed");
    expect(failed).toMatchObject({
      reason: expect.stringContaining(problem),
      problem: null,
      next_start_at: null,
      pids: [],
    });
    await write("svc.worker.yaml", manifest("true"));
    await project.statusWith("w", ({ state }) => state === "backing_off");
  });
});

describe("a worker that waits to be started again", () => {
  it("is not started while its dependencies are installed", async () => {
    await project.writeWorker("w", { manifest: manifest("true"), script: "exit 1\n" });
    await project.start([project.entry("w")]);
    await project.statusWith("w", ({ state, restarts }) => state === "backing_off" && restarts > 0);
    await write("svc.worker.yaml", manifest("while [ ! -f go ]; do sleep 0.05; done"));
    expect(await project.statusWith("w", ({ state }) => state === "installing")).toMatchObject({ next_start_at: null });
    await write("go", "");
    await project.statusWith("w", ({ state }) => state === "backing_off");
  });

  it("is not started before what it depends on", async () => {
    await project.writeWorker("w", { script: "exit 1\n" });
    await project.writeWorker("db");
    await project.start([project.entry("w", { dependsOn: ["db"] }), project.entry("db", { watch: false })]);
    await project.connectAs("db", await project.runningPid("db"));
    await project.statusWith("w", ({ state, restarts }) => state === "backing_off" && restarts > 0);
    await project.call("worker::stop", { name: "db" });
    await write("worker.sh", "exit 2\n");
    const waiting = await project.statusWith("w", ({ waits_for }) => waits_for.includes("db"));
    expect(waiting).toMatchObject({ state: "starting", next_start_at: null });
  });
});
