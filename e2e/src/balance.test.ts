import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CallError, connect, type Worker } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { freePorts } from "./support/ports.ts";

const project = mkdtempSync(join(tmpdir(), "svc-balance-"));
const python = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const pythonSdk = fileURLToPath(new URL("../../python/src", import.meta.url));
let ports: Ports;
let engine: EngineProcess;
let caller: Worker;

/** The math worker of the quickstart, which also says which process answered. */
const MATH_WORKER = `
import os, svc
worker = svc.connect(name="math-worker")

@worker.function("math::add")
def add(payload):
    return {"c": payload["a"] + payload["b"], "pid": os.getpid()}

worker.run()
`;

beforeAll(async () => {
  ports = await freePorts();
  const folder = join(project, "math-worker");
  mkdirSync(folder);
  writeFileSync(join(folder, "math_worker.py"), MATH_WORKER);
  writeFileSync(
    join(folder, "svc.worker.yaml"),
    `name: math-worker\nruntime: {kind: python, entry: math_worker.py}\nscripts: {install: "true", start: ${python} math_worker.py}\nenv: {PYTHONPATH: ${pythonSdk}}\n`,
  );
  writeFileSync(join(project, "config.yaml"), "workers:\n  - name: math-worker\n    path: ./math-worker\n    replicas: 2\n");
  engine = await startEngine({ cwd: project, ports });
  caller = connect(`ws://localhost:${ports.bridge}`, { name: "caller", handleSignals: false });
  await caller.call({ function_id: "worker::wait", payload: { name: "math-worker" }, timeout_ms: 60_000 });
});

afterAll(async () => {
  await caller?.shutdown();
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

interface Answer {
  readonly c: number;
  readonly pid: number;
}
const add = (n: number): Promise<Answer> => caller.call<Answer>({ function_id: "math::add", payload: { a: n, b: 1 } });

describe("two copies of the math worker", () => {
  it("share 1,000 calls evenly", async () => {
    const counts = new Map<number, number>();
    const IN_FLIGHT = 16;
    let next = 0;
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (next < 1_000) {
          const n = next++;
          const { c, pid } = await add(n);
          expect(c).toBe(n + 1);
          counts.set(pid, (counts.get(pid) ?? 0) + 1);
        }
      }),
    );
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(1_000);
    expect(counts.size).toBe(2);
    for (const count of counts.values()) expect(count).toBeGreaterThanOrEqual(400);
  });

  it("lose only the calls in the hands of the one that is killed with -9 mid-load; the rest go to the other", async () => {
    const first = (await add(0)).pid;
    const IN_FLIGHT = 16;
    const failures: CallError[] = [];
    const servedAfterKill = new Set<number>();
    let next = 0;
    let killed = false;
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (next < 2_000) {
          const n = next++;
          if (n === 500) {
            process.kill(first, "SIGKILL");
            killed = true;
          }
          try {
            const { pid } = await add(n);
            if (killed && n > 600) servedAfterKill.add(pid);
          } catch (error) {
            failures.push(error as CallError);
          }
        }
      }),
    );
    expect(failures.length).toBeLessThanOrEqual(IN_FLIGHT);
    for (const failure of failures) expect(failure.code).toBe("invocation_stopped");
    expect(servedAfterKill.has(first)).toBe(false);
    expect(servedAfterKill.size).toBeGreaterThanOrEqual(1);
  });
});
