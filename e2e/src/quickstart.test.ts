import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliResult, type EngineProcess, type Ports, startEngine, svc } from "./support/cli.ts";
import { follow, type StreamMessage } from "./support/live-updates.ts";
import { freePorts } from "./support/ports.ts";
import { commandOf, eventually, isRunning, processesIn } from "./support/processes.ts";
import { uncomment } from "./support/uncomment.ts";

// The whole quickstart as its reader goes through it, in order: each test goes on where the one before ended.
const parent = mkdtempSync(join(tmpdir(), "svc-quickstart-"));
const project = join(parent, "quickstart");
let ports: Ports;
let engine: EngineProcess;

const run = (...args: string[]): Promise<CliResult> => svc(args, { cwd: project, url: `ws://localhost:${ports.bridge}` });
const call = async (functionId: string, payload: unknown): Promise<unknown> => {
  const { code, stdout, stderr } = await run("trigger", `--function-id=${functionId}`, `--payload=${JSON.stringify(payload)}`);
  if (code !== 0) throw new Error(`svc trigger ended with ${code}: ${stderr}`);
  expect(stdout.endsWith("\n")).toBe(true);
  return JSON.parse(stdout);
};

interface WorkerStatus {
  readonly name: string;
  readonly state: string;
  readonly pids: readonly number[];
}
const statusOf = async (name: string): Promise<WorkerStatus> => (await call("worker::status", { name })) as WorkerStatus;

const functionAppears = (id: string) => (message: StreamMessage) => message.id === id && message.event.type === "create";
const functionGoes = (id: string) => (message: StreamMessage) => message.id === id && message.event.type === "delete";

beforeAll(async () => {
  ports = await freePorts();
});

afterAll(async () => {
  engine?.child.kill("SIGKILL");
  await eventually("the project's processes are gone", () => processesIn(project).length === 0);
  rmSync(parent, { recursive: true, force: true });
});

describe("the quickstart", () => {
  it("scaffolds a project and starts an engine on it", async () => {
    const created = await svc(["create", "--template", "quickstart", "--directory", project], { cwd: parent });
    expect(created).toMatchObject({ code: 0 });
    engine = await startEngine({ cwd: project, ports });
  });

  it("adds both workers and says what a user expects to read", async () => {
    const math = await run("worker", "add", "./workers/math-worker");
    expect(math).toMatchObject({ code: 0 });
    expect(math.stderr).toMatch(/math-worker added to config\.yaml/);
    expect(math.stderr).toMatch(/auto-started/i);
    const caller = await run("worker", "add", "./workers/caller-worker");
    expect(caller).toMatchObject({ code: 0 });
    expect(readFileSync(join(project, "config.yaml"), "utf8")).toContain("path: ./workers/math-worker");
  });

  it("calls Python through the engine, and TypeScript that calls Python", async () => {
    expect(await call("math::add", { a: 2, b: 3 })).toEqual({ c: 5 });
    expect(await call("math::add_two_numbers", { a: 10, b: 20 })).toEqual({ c: 30 });
    const [a, b] = [Math.floor(Math.random() * 1e6), Math.floor(Math.random() * 1e6)];
    expect(await call("math::add_two_numbers", { a, b })).toEqual({ c: a + b });
  });

  it("says by its id that a function is not there", async () => {
    const { code, stdout, stderr } = await run("trigger", "--function-id=math::nope", "--payload={}");
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "function_not_found", message: "Function math::nope not found" });
    const response = await fetch(`http://localhost:${ports.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id: "math::nope", payload: {} }),
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: "Function math::nope not found" } });
  });

  it("keeps a running total once state is added and the block uncommented, without a manual restart", async () => {
    expect(await run("worker", "add", "svc-state")).toMatchObject({ code: 0 });
    const functions = await follow(ports.realtime, "svc.functions");
    uncomment(join(project, "workers/math-worker/math_worker.py"), "#", "STATE:", "END OF STATE");
    await functions.next(functionGoes("math::add"), "the worker stops for the new source");
    await functions.next(functionAppears("math::add"), "the worker is back with the new source");
    functions.close();
    expect(await call("math::add", { a: 2, b: 3 })).toEqual({ c: 5, running_total: 5 });
    expect(await call("math::add_two_numbers", { a: 10, b: 20 })).toEqual({ c: 30, running_total: 35 });
  });

  it("answers over HTTP once svc-http is added and the block uncommented", async () => {
    expect(await run("worker", "add", "svc-http")).toMatchObject({ code: 0 });
    const triggers = await follow(ports.realtime, "svc.triggers");
    uncomment(join(project, "workers/caller-worker/src/worker.ts"), "//", "HTTP:", "END OF HTTP");
    await triggers.next(({ event }) => event.data.trigger_type === "http" && event.data.status === "active", "the route is active");
    triggers.close();
    const response = await fetch(`http://localhost:${ports.http}/math/add-two-numbers`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ a: 100, b: 200 }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ c: 300, running_total: 335 });
  });

  it("survives kill -9: the total is there, one process runs per worker, the old ones are gone", async () => {
    const before = [...(await statusOf("math-worker")).pids, ...(await statusOf("caller-worker")).pids];
    expect(before.every(isRunning)).toBe(true);
    engine.child.kill("SIGKILL");
    await engine.exited;
    engine = await startEngine({ cwd: project, ports });
    for (const name of ["math-worker", "caller-worker"]) {
      const status = (await call("worker::wait", { name })) as WorkerStatus;
      expect(status.state).toBe("ready");
      for (const pid of status.pids) expect(before).not.toContain(pid);
    }
    await eventually("the processes of the killed engine are gone", () => !before.some(isRunning), 10_000);
    for (const program of ["math_worker.py", "src/worker.ts"]) expect(processesIn(project).filter((pid) => commandOf(pid).includes(program))).toHaveLength(1);
    expect(await call("state::get", { scope: "math", key: "running_total" })).toBe(335);
    const { workers } = (await call("engine::workers::list", {})) as { workers: readonly { name: string }[] };
    expect(workers.map(({ name }) => name)).toEqual(["caller-worker", "math-worker"]);
    expect(await call("math::add_two_numbers", { a: 1, b: 2 })).toEqual({ c: 3, running_total: 338 });
  });

  it("stops on SIGTERM with exit code 0 and leaves no process", async () => {
    engine.child.kill("SIGTERM");
    expect(await engine.exited).toBe(0);
    await eventually("no process of the project is left", () => processesIn(project).length === 0, 5_000);
  });
});
