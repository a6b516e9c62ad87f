import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemsOf, problemsWithoutFaults } from "./queue-load/check-history.ts";
import { Load } from "./queue-load/load.ts";
import { jobsOfLane, LANES, WORKERS } from "./queue-load/plan.ts";
import { settled, summaryOf } from "./queue-load/read-results.ts";
import { seeded } from "./state-load/plan.ts";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { connectCaller } from "./support/connect-caller.ts";
import { say } from "./support/say.ts";

/** Jobs of all workers together. `SVC_OPERATIONS=10000 SVC_KILLS=20` makes a longer run. */
const OPERATIONS = Number(process.env.SVC_OPERATIONS ?? 2_000);
const KILLS = Number(process.env.SVC_KILLS ?? 5);
const OPERATIONS_WITHOUT_FAULTS = 1_000;

const config = `workers:
  - name: svc-queue
    config:
      queue_configs:
        ordered: {type: fifo, message_group_field: group, concurrency: 32, max_retries: 3, backoff_ms: 20}
        plain: {concurrency: 16, max_retries: 3, backoff_ms: 20}
`;

let project: string;
let ports: Ports;
let engine: EngineProcess;

beforeAll(async () => {
  ports = await freePorts();
});
afterAll(async () => {
  await stopEngine();
});

async function startProject(): Promise<string> {
  project = mkdtempSync(join(tmpdir(), "svc-queue-crash-"));
  writeFileSync(join(project, "config.yaml"), config);
  engine = await startEngine({ cwd: project, ports });
  return `ws://localhost:${ports.bridge}`;
}

async function stopEngine(): Promise<void> {
  engine?.child.kill("SIGKILL");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
}

describe("thousands of jobs from four workers, with an engine that is killed with -9 several times and a worker that is killed once", () => {
  it("end done, or dead with their true error; none is lost or stuck, and groups keep their order (gap 3) (gap 4) (gap 5) (gap 8) (Q-1) (Q-2) (Q-6)", async () => {
    const { seed, random } = seeded();
    say(`seed ${seed}; SVC_SEED=${seed} repeats the jobs and the moments`);
    const moments = Array.from({ length: KILLS }, () => Math.floor(random() * (OPERATIONS - 400)) + 200).sort(
      (a, b) => a - b,
    );
    const victim = Math.floor(random() * WORKERS);
    const victimGoesAt = Math.floor(random() * KILLS);
    const url = await startProject();
    const load = await Load.start({ folder: join(project, "journals"), url, seed, operations: OPERATIONS });
    const caller = connectCaller(url);
    try {
      const startedAt = performance.now();
      load.begin();
      for (const [number, moment] of moments.entries()) {
        await load.reached(moment);
        // At a random point between two commits, not at the same point of the loop each time.
        await new Promise((resolve) => setTimeout(resolve, random() * 50));
        if (number === victimGoesAt) await load.killAndRestart(victim);
        engine.child.kill("SIGKILL");
        await engine.exited;
        engine = await startEngine({ cwd: project, ports });
      }
      await load.finished();
      const final = await settled(caller);
      const history = load.history();
      say(`${summaryOf(history, final)}; ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      expect(problemsOf(history, final, `runner-${victim}`)).toEqual([]);
      // A kill of the engine fails at most the enqueue in flight of each lane. The killed worker loses its own.
      expect(history.acks.size).toBeGreaterThanOrEqual(
        jobsOfLane(OPERATIONS) * LANES * WORKERS - LANES * WORKERS * KILLS - LANES,
      );
      // Clients that connect after a restart find svc-queue.
      expect([...new Set(history.failures.values())].filter((code) => code !== "disconnected")).toEqual([]);
    } finally {
      await caller.shutdown({ timeoutMs: 1_000 });
      await load.stop();
      await stopEngine();
    }
  });
});

describe("a thousand jobs from four workers, when nothing is killed", () => {
  it("run as often as they must and no more, one of a group at a time: no duplicates (Q-2)", async () => {
    const { seed } = seeded();
    const url = await startProject();
    const load = await Load.start({
      folder: join(project, "journals"),
      url,
      seed,
      operations: OPERATIONS_WITHOUT_FAULTS,
    });
    const caller = connectCaller(url);
    try {
      load.begin();
      await load.finished();
      const final = await settled(caller);
      const history = load.history();
      say(`seed ${seed}: ${summaryOf(history, final)}`);
      expect(problemsWithoutFaults(history, final)).toEqual([]);
      expect(history.acks.size).toBe(jobsOfLane(OPERATIONS_WITHOUT_FAULTS) * LANES * WORKERS);
    } finally {
      await caller.shutdown({ timeoutMs: 1_000 });
      await load.stop();
    }
  });
});
