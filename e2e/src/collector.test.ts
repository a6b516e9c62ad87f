import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort, freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { eventually } from "./support/processes.ts";

const program = fileURLToPath(new URL("../src/support/otlp-collector.mjs", import.meta.url));
const CALLS = 500;
/** Downtime of the collector, in milliseconds. SVC_COLLECTOR_AWAY_MS=60000 sets the minute of the guarantee. */
const AWAY_MS = Number(process.env.SVC_COLLECTOR_AWAY_MS ?? 5_000);

interface Told {
  readonly spans: readonly (readonly [id: string, name: string])[];
  readonly logs: readonly string[];
  readonly metrics: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), "svc-collector-"));
/** Everything sent to all runs of the collector. */
const spans = new Map<string, string>();
const logs = new Set<string>();
const metrics = new Set<string>();
let collectorPort: number;
let collector: ChildProcess;
let ports: Ports;
let engine: EngineProcess;
let worker: Worker;

async function startCollector(): Promise<void> {
  collector = spawn(process.execPath, [program, String(collectorPort)], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve) => {
    createInterface({ input: collector.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const told = JSON.parse(line) as Partial<Told>;
      for (const [id, name] of told.spans ?? []) spans.set(id, name);
      for (const text of told.logs ?? []) logs.add(text);
      for (const name of told.metrics ?? []) metrics.add(name);
      resolve();
    });
  });
}

async function killCollector(): Promise<void> {
  const closed = once(collector, "close");
  collector.kill("SIGKILL");
  await closed;
}

const callAll = (): Promise<unknown> =>
  Promise.all(Array.from({ length: CALLS }, (_, n) => worker.call({ function_id: "echo::back", payload: { n } })));
const received = (): number => [...spans.values()].filter((name) => name === "echo::back").length;

interface Status {
  readonly exporters: readonly {
    readonly signal: string;
    readonly state: string;
    readonly queued: number;
    readonly dropped: number;
  }[];
}
const exporterOfSpans = async (): Promise<Status["exporters"][number]> => {
  const { exporters } = (await worker.call({ function_id: "engine::telemetry::status", payload: {} })) as Status;
  return exporters.find(({ signal }) => signal === "spans") as Status["exporters"][number];
};

beforeAll(async () => {
  ports = await freePorts();
  collectorPort = await freePort();
  writeFileSync(
    join(folder, "config.yaml"),
    `workers:
  - name: svc-observability
    config:
      exporter: both
      endpoint: http://127.0.0.1:${collectorPort}
      protocol: http/json
      metrics_interval_seconds: 5
      logs_flush_interval_ms: 200
`,
  );
  await startCollector();
  engine = await startEngine({ cwd: folder, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "echo", logger: silentLogger, handleSignals: false });
  worker.registerFunction("echo::back", (payload: unknown) => payload);
  await worker.connected();
});

afterAll(async () => {
  await worker?.shutdown();
  collector?.kill("SIGKILL");
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(folder, { recursive: true, force: true });
});

it("is sent every span, log entry and metric", async () => {
  await worker.call({ function_id: "engine::log::info", payload: { message: "for the collector" } });
  await callAll();
  await eventually("every span has come", () => received() === CALLS, 60_000);
  await eventually("the log entry has come", () => logs.has("for the collector"), 60_000);
  await eventually("metrics have come", () => metrics.has("svc.calls"), 60_000);
});

it("receives after a restart everything that happened during its downtime, and calls continue meanwhile (L-4)", async () => {
  await killCollector();
  const awaySince = performance.now();
  await callAll();
  await eventually(
    "the exporter has found that nobody is there",
    async () => (await exporterOfSpans()).state !== "ok",
    60_000,
  );
  await eventually(
    "the collector was away for as long as it should",
    () => performance.now() - awaySince >= AWAY_MS,
    AWAY_MS + 10_000,
  );
  expect((await exporterOfSpans()).queued).toBeGreaterThanOrEqual(CALLS);
  expect(received()).toBe(CALLS);
  await startCollector();
  await eventually("every span has come", () => received() === 2 * CALLS, 90_000);
  expect((await exporterOfSpans()).dropped).toBe(0);
});
