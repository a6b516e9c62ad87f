import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { findProcess } from "../../local-workers/process-table.ts";
import { manualClock } from "../../testing/index.ts";
import { LogFile } from "./logs/log-file.ts";
import { Replica } from "./replica.ts";
import { RunRecords } from "./run-records.ts";
import type { RunPlan } from "./unit-preparation.ts";

const WAIT = { timeout: 20_000, interval: 20 };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-replica-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

it("a new process that has registered nothing after 120 s is stopped, and the former one serves on", async () => {
  const clock = manualClock();
  const log = silentLogger;
  const output = new LogFile({ file: join(folder, "w.log"), clock, onProblem: () => {} });
  const limits = { memoryBytes: undefined, cpu: undefined };
  const entry = {
    name: "w",
    path: folder,
    replicas: 1,
    watch: false,
    dependsOn: [],
    limits,
    env: {},
    where: "config.yaml:1",
  } as const;
  const replica = new Replica(0, {
    ...{ entry, output, kind: undefined, onReady: () => {}, onChange: () => {} },
    parts: {
      ...{
        clock,
        log,
        records: new RunRecords(join(folder, "run")),
        haveRegistered: () => true,
        standby: { assign: () => {}, whenIdle: () => Promise.resolve() },
        bridgeUrl: () => "ws://localhost:1",
      },
      ...{ telemetry: { log: () => {} }, sendLogs: () => false },
    },
  });
  const environment = (): Record<string, string> => ({ PATH: process.env.PATH ?? "" });
  const plan: RunPlan = {
    command: "exec sleep 300",
    folder,
    environment,
    watch: false,
    manifest: undefined,
    fromFiles: {},
    warnings: [],
  };
  replica.start(plan);
  replica.current.connected("c");
  clock.advance(300);
  const former = replica.current;
  expect(former.status.state).toBe("ready");

  const result = replica.replace(plan, { graceMs: 10_000, signal: new AbortController().signal });
  const next = replica.processes[1];
  const [pid = 0] = await vi.waitUntil(async () => {
    const pids = (await next?.pids()) ?? [];
    return pids.length === 0 ? undefined : pids;
  }, WAIT);
  clock.advance(119_999);
  expect(next?.status.state).toBe("starting");
  clock.advance(1);

  expect(await result).toEqual({
    outcome: "failed",
    problem: "its new process registered no function, trigger type or trigger within 120 s",
    isPortInUse: false,
  });
  expect(await findProcess(pid)).toBeUndefined();
  expect(replica.processes).toEqual([former]);
  expect(former.status.state).toBe("ready");
  await replica.stop({ graceMs: 10_000 });
  await output.close();
});
