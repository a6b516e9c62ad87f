import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, createLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { startEngine } from "../support/cli.ts";
import { say } from "../support/say.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";

const MINUTES = amount(60, 1);
/** The initial growth of the engine's stores up to their limits is not part of the slope. */
const WARM_UP_MINUTES = amount(15, 0);
const ROUNDS_PER_SECOND = 10;
const KEYS = 1_000;
const SAMPLE_MS = 10_000;

interface Sample {
  readonly minute: number;
  readonly rssMb: number;
  readonly handles: number;
  readonly p99Ms: number;
}

it("an engine under a steady load for an hour neither grows nor leaks handles, and fails no call", async () => {
  const project = join(faultsFolder("soak"), "project");
  mkdirSync(project);
  writeFileSync(
    join(project, "config.yaml"),
    "workers:\n  - name: svc-http\n  - name: svc-state\n  - name: svc-queue\n  - name: svc-stream\n  - name: svc-event\n  - name: svc-observability\n",
  );
  const ports = await freePorts();
  const engine = await startEngine({ cwd: project, ports });
  const logger = createLogger({ level: "silent", write: () => {} });
  const worker = connect(`ws://localhost:${ports.bridge}`, { name: "soak", handleSignals: false, logger });
  worker.registerFunction("soak::echo", (value: unknown) => value);
  worker.registerFunction("soak::route", () => ({ status_code: 200, body: { ok: true } }));
  worker.registerFunction("soak::job", () => null);
  worker.registerTrigger({
    type: "http",
    function_id: "soak::route",
    config: { api_path: "/soak", http_method: "GET" },
  });
  worker.registerTrigger({ type: "event", function_id: "soak::job", config: { topic: "soak" } });
  await worker.connected();

  const samples: Sample[] = [];
  const failures: string[] = [];
  let latencies: number[] = [];
  const timed = async (action: () => Promise<unknown>): Promise<void> => {
    const from = performance.now();
    try {
      await action();
      latencies.push(performance.now() - from);
    } catch (error) {
      failures.push((error as Error).message);
    }
  };
  const round = (n: number): Promise<unknown> =>
    Promise.all([
      timed(() => worker.call({ function_id: "soak::echo", payload: { n, text: "x".repeat(500) } })),
      timed(() => worker.state.set("soak", String(n % KEYS), { n })),
      timed(() =>
        worker.call({
          function_id: "stream::set",
          payload: { stream_name: "soak", group_id: "g", item_id: String(n % KEYS), data: { n } },
        }),
      ),
      timed(() =>
        worker.call({
          function_id: "queue::enqueue",
          payload: { queue: "default", function_id: "soak::job", data: { n } },
        }),
      ),
      timed(() => worker.call({ function_id: "event::emit", payload: { event: "soak", data: { n } } })),
      timed(async () => {
        const response = await fetch(`http://localhost:${ports.http}/soak`);
        await response.text();
        if (response.status !== 200) throw new Error(`status ${response.status}`);
      }),
    ]);

  try {
    const begin = performance.now();
    let nextSampleAt = begin + SAMPLE_MS;
    for (let n = 0; performance.now() - begin < MINUTES * 60_000; n++) {
      await round(n);
      if (performance.now() >= nextSampleAt) {
        nextSampleAt += SAMPLE_MS;
        latencies.sort((a, b) => a - b);
        const sample = {
          minute: (performance.now() - begin) / 60_000,
          ...look(engine.pid),
          p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
        };
        latencies = [];
        samples.push(sample);
        if (samples.length % 30 === 0)
          say(`soak: ${sample.minute.toFixed(0)} min, ${sample.rssMb.toFixed(0)} MB, ${sample.handles} handles`);
      }
      const due = begin + ((n + 1) * 1_000) / ROUNDS_PER_SECOND;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    }
  } finally {
    await worker.shutdown({ timeoutMs: 2_000 });
    engine.child.kill("SIGTERM");
    await engine.exited;
  }
  const steady = samples.filter(({ minute }) => minute >= WARM_UP_MINUTES);
  const perHour = (of: (sample: Sample) => number): number =>
    60 * slope(steady.map((sample) => [sample.minute, of(sample)]));
  const mean = (of: Sample[]): number => of.reduce((sum, { p99Ms }) => sum + p99Ms, 0) / of.length;
  const quarter = Math.max(1, Math.floor(steady.length / 4));
  const [rss, handles] = [perHour(({ rssMb }) => rssMb), perHour((sample) => sample.handles)];
  figure(
    `${MINUTES} minutes at ${6 * ROUNDS_PER_SECOND} operations a second`,
    `${failures.length} failed; memory ${steady[0]?.rssMb.toFixed(0)} to ${steady.at(-1)?.rssMb.toFixed(0)} MB, ${rss.toFixed(1)} MB an hour; ` +
      `handles ${steady[0]?.handles} to ${steady.at(-1)?.handles}, ${handles.toFixed(1)} an hour; p99 ${mean(steady.slice(0, quarter)).toFixed(1)} ms in the first quarter, ${mean(steady.slice(-quarter)).toFixed(1)} ms in the last`,
  );
  expect(failures.slice(0, 5)).toEqual([]);
  if (MINUTES < 30) return;
  expect(rss).toBeLessThan(20);
  expect(handles).toBeLessThan(5);
});

function look(pid: number): { readonly rssMb: number; readonly handles: number } {
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { rssMb: rss / 1024, handles: readdirSync(`/proc/${pid}/fd`).length };
}

/** Least squares: y per x. */
function slope(points: readonly (readonly [number, number])[]): number {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
