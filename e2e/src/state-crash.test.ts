import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemsOf } from "./state-load/check-history.ts";
import { startLoad } from "./state-load/load.ts";
import { allKeys, seeded, WORKERS } from "./state-load/plan.ts";
import { finalItems, settled, summaryOf, watchersAreBound } from "./state-load/read-results.ts";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { connectCaller } from "./support/connect-caller.ts";
import { say } from "./support/say.ts";

/** Writes of all workers together. `SVC_OPERATIONS=10000 SVC_KILLS=20` makes a longer run. */
const OPERATIONS = Number(process.env.SVC_OPERATIONS ?? 2_000);
const KILLS = Number(process.env.SVC_KILLS ?? 5);
/** Writes in flight, per worker. */
const IN_FLIGHT = 8;

const project = mkdtempSync(join(tmpdir(), "svc-state-crash-"));
let ports: Ports;
let engine: EngineProcess;

beforeAll(async () => {
  ports = await freePorts();
  writeFileSync(join(project, "config.yaml"), "workers:\n  - name: svc-state\n");
  engine = await startEngine({ cwd: project, ports });
});
afterAll(async () => {
  engine?.child.kill("SIGKILL");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

describe("an engine that is killed with -9 several times under thousands of sets and updates from four workers", () => {
  it("keeps every acknowledged write, leaves no gap in versions, and reports every change at least once and in order (gap 34) (gap 38) (S-1) (S-3)", async () => {
    const { seed, random } = seeded();
    say(`seed ${seed}; SVC_SEED=${seed} repeats the operations and the moments`);
    const moments = Array.from({ length: KILLS }, () => Math.floor(random() * (OPERATIONS - 400)) + 200).sort(
      (a, b) => a - b,
    );
    const url = `ws://localhost:${ports.bridge}`;
    const load = await startLoad({
      folder: join(project, "journals"),
      url,
      seed,
      operations: OPERATIONS,
      inFlight: IN_FLIGHT,
    });
    const caller = connectCaller(url);
    try {
      await watchersAreBound(caller);
      const startedAt = performance.now();
      load.begin();
      for (const moment of moments) {
        await load.reached(moment);
        // At a random point between two commits, not at the same point of the loop each time.
        await new Promise((resolve) => setTimeout(resolve, random() * 50));
        engine.child.kill("SIGKILL");
        await engine.exited;
        engine = await startEngine({ cwd: project, ports });
      }
      await load.finished;
      await settled(load, caller);
      const history = load.history();
      const problems = problemsOf(history, await finalItems(caller));
      say(`${summaryOf(history)}; ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      expect(problems).toEqual([]);
      // A kill fails at most the writes in flight.
      expect(history.acks.length).toBeGreaterThanOrEqual(OPERATIONS - WORKERS * IN_FLIGHT * KILLS);
      // Clients that connect after a restart find svc-state.
      expect([...history.failures.keys()].filter((code) => code !== "disconnected")).toEqual([]);
      expect((await finalItems(caller)).map(({ key }) => key)).toEqual(allKeys());
    } finally {
      await caller.shutdown({ timeoutMs: 1_000 });
      await load.stop();
    }
  });
});
