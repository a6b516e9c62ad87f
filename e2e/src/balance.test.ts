import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import { type CallError, connect, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";

const project = mkdtempSync(join(tmpdir(), "svc-balance-"));
const repository = fileURLToPath(new URL("../..", import.meta.url));
let ports: Ports;
let engine: EngineProcess;
let caller: Worker;

/** The quickstart's math worker, which also returns the id of its process. */
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
  const manifest = `name: math-worker\nruntime: {kind: other}\nscripts: {start: exec ${join(repository, ".venv/bin/python")} math_worker.py}\n`;
  writeFileSync(join(folder, "svc.worker.yaml"), manifest);
  writeFileSync(
    join(project, "config.yaml"),
    `workers:\n  - {name: math-worker, path: ./math-worker, replicas: 2, env: {PYTHONPATH: ${join(repository, "python/src")}}}\n`,
  );
  engine = await startEngine({ cwd: project, ports });
  caller = connect(`ws://localhost:${ports.bridge}`, { name: "caller", handleSignals: false });
  const status = await caller.call<{ state: string }>({
    function_id: "worker::wait",
    payload: { name: "math-worker", timeout_ms: 60_000 },
    timeoutMs: 70_000,
  });
  expect(status).toMatchObject({ state: "ready" });
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
  /** Makes 1,000 calls with the given concurrency, and counts the answers per process. */
  async function sharesOf(inFlight: number): Promise<number[]> {
    const counts = new Map<number, number>();
    let next = 0;
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        while (next < 1_000) {
          const n = next++;
          const { c, pid } = await add(n);
          expect(c).toBe(n + 1);
          counts.set(pid, (counts.get(pid) ?? 0) + 1);
        }
      }),
    );
    return [...counts.values()];
  }

  it("share 1,000 calls evenly", async () => {
    const shares = await sharesOf(1);
    expect(shares).toHaveLength(2);
    for (const share of shares) expect(share).toBeGreaterThanOrEqual(400);
  });

  it("share them by their capacity when they are kept busy", async () => {
    // The faster worker gets more calls. The ratio depends on the machine, but neither is idle.
    const shares = await sharesOf(16);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(1_000);
    expect(shares).toHaveLength(2);
    for (const share of shares) expect(share).toBeGreaterThanOrEqual(100);
  });

  it("lose only the calls in flight of the one that is killed with -9 under load; the rest go to the other", async () => {
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
