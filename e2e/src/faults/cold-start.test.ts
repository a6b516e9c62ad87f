import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { type EngineProcess, startEngine } from "../support/cli.ts";
import { say } from "../support/say.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";

const KEYS = amount(1_000_000, 20_000);
const JOBS = amount(100_000, 2_000);
const AT_ONCE = 1_000;
const TEXT = "x".repeat(100);
/** Limit of the contract. */
const READY_WITHIN_MS = 5_000;

it(`an engine with ${KEYS} keys and ${JOBS} jobs is ready within 5 s, also after a kill -9 (X-4)`, async () => {
  const project = join(faultsFolder("cold-start"), "project");
  mkdirSync(project);
  writeFileSync(
    join(project, "config.yaml"),
    "workers:\n  - name: svc-http\n  - name: svc-state\n  - name: svc-queue\n",
  );
  const ports = await freePorts();
  const url = `ws://127.0.0.1:${ports.bridge}`;
  const clients = { name: "filler", handleSignals: false, logger: silentLogger } as const;
  let engine: EngineProcess = await startEngine({ cwd: project, ports });
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    engine.child.kill(signal);
    await engine.exited;
  };

  const filler = connect(url, clients);
  const keysFrom = (first: number) =>
    Array.from({ length: AT_ONCE }, (_, n) => ({
      scope: "many",
      key: `key-${first + n}`,
      value: { n: first + n, text: TEXT },
    }));
  for (let first = 0; first < KEYS; first += AT_ONCE) await filler.state.setMany(keysFrom(first));
  const jobs = Array.from({ length: AT_ONCE }, (_, n) => ({
    queue: "default",
    functionId: "cold::nobody",
    data: { n, text: TEXT },
  }));
  for (let stored = 0; stored < JOBS; stored += AT_ONCE) await filler.queue.enqueueMany(jobs);
  await filler.shutdown();
  say(`cold start: ${KEYS} keys and ${JOBS} jobs are stored`);

  const readyAfterMs: number[] = [];
  try {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await end(signal);
      // Files in the system's cache would not be read from the disk.
      execFileSync("sh", ["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"]);
      const from = performance.now();
      engine = await startEngine({ cwd: project, ports });
      while ((await fetch(`http://127.0.0.1:${ports.http}/readyz`)).status !== 200)
        await new Promise((resolve) => setTimeout(resolve, 20));
      readyAfterMs.push(performance.now() - from);
      const reader = connect(url, clients);
      expect(await reader.state.get("many", `key-${KEYS - 1}`)).toMatchObject({ n: KEYS - 1 });
      expect((await reader.queue.list()).find(({ queue }) => queue === "default")).toMatchObject({ waiting: JOBS });
      await reader.shutdown();
    }
  } finally {
    await end("SIGTERM");
  }
  const seconds = readyAfterMs.map((ms) => (ms / 1_000).toFixed(2));
  figure(
    `a cold start with ${KEYS} keys and ${JOBS} jobs`,
    `ready after ${seconds[0]} s, after a kill -9 after ${seconds[1]} s`,
  );
  expect(Math.max(...readyAfterMs)).toBeLessThan(READY_WITHIN_MS);
});
