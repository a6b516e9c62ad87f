import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { type EngineProcess, startEngine } from "../support/cli.ts";
import { connectCaller } from "../support/connect-caller.ts";
import { killHard, processorSeconds } from "../support/processes.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";

const WORKERS = amount(1_000, 100);
/** The limits of X-5, without a margin. */
const BACK_WITHIN_MS = 10_000;
const CALM_AFTER_MS = 15_000;
const MEASURED_MS = 5_000;
/** X-5 allows less than one core, which one event loop cannot exceed. 1,000 idle connections need 0.02 to 0.05. */
const IDLE_CORES = 0.2;
const LOOK_EVERY_MS = 100;

interface Listing {
  readonly workers: readonly { readonly name: string | null }[];
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

it(`${WORKERS} workers are back within 10 s after a kill -9 and a start of the engine, which then keeps no core busy (X-5)`, async () => {
  const project = join(faultsFolder("reconnect-storm"), "project");
  mkdirSync(project);
  writeFileSync(join(project, "config.yaml"), "workers: []\n");
  const ports = await freePorts();
  const url = `ws://127.0.0.1:${ports.bridge}`;
  let engine: EngineProcess = await startEngine({ cwd: project, ports });
  const workers: Worker[] = [];
  try {
    for (let n = 0; n < WORKERS; n++) {
      const worker = connect(url, { name: `storm-${n}`, handleSignals: false, logger: silentLogger });
      worker.registerFunction(`storm::${n}`, () => n);
      workers.push(worker);
    }
    await Promise.all(workers.map((worker) => worker.connected()));

    killHard(engine.pid);
    await engine.exited;
    engine = await startEngine({ cwd: project, ports });
    const upAt = performance.now();
    const caller = connectCaller(url);
    workers.push(caller);
    const countBack = async (): Promise<number> => {
      const { workers: listed } = await caller.call<Listing>({ function_id: "engine::workers::list", payload: {} });
      return listed.filter(({ name }) => name?.startsWith("storm-")).length;
    };
    let back = await countBack();
    while (back < WORKERS && performance.now() - upAt < BACK_WITHIN_MS) {
      await pause(LOOK_EVERY_MS);
      back = await countBack();
    }
    const backAfterMs = performance.now() - upAt;
    expect(back, `workers that are back after ${Math.round(backAfterMs)} ms`).toBe(WORKERS);
    const answers = await Promise.all(
      Array.from({ length: WORKERS }, (_, n) => caller.call({ function_id: `storm::${n}`, payload: null })),
    );
    await pause(upAt + CALM_AFTER_MS - performance.now());
    const [usedBefore, measuredFrom] = [processorSeconds(engine.pid), performance.now()];
    await pause(MEASURED_MS);
    const cores = (processorSeconds(engine.pid) - usedBefore) / ((performance.now() - measuredFrom) / 1_000);

    figure(
      `${WORKERS} workers after a kill -9 and a start of the engine`,
      `all back after ${(backAfterMs / 1_000).toFixed(1)} s; ${(100 * cores).toFixed(0)} % of a core from 15 s on`,
    );
    expect(answers).toEqual(Array.from({ length: WORKERS }, (_, n) => n));
    expect(backAfterMs).toBeLessThan(BACK_WITHIN_MS);
    expect(cores).toBeLessThan(IDLE_CORES);
  } finally {
    await Promise.all(workers.map((worker) => worker.shutdown({ timeoutMs: 2_000 })));
    engine.child.kill("SIGTERM");
    await engine.exited;
  }
});
