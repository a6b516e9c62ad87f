import { startNatsServers } from "@svc-runtime/engine/testing";
import type { Bar } from "../bars.ts";
import type { EngineProcess, ModuleEntry } from "../engine-process.ts";
import { cpuUsPerOperation, operationsPerSecond, type Window } from "../generator/load.ts";
import { adopt, Generator } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio, spread } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const PAYLOAD_BYTES = 200;
const QUEUE = "bench";
const JOBS_IN_FLIGHT = 128;
const CALLS_IN_FLIGHT = 64;
const NODES = ["a", "b", "c"] as const;
const MODULES: readonly ModuleEntry[] = [
  { name: "svc-queue", config: { queue_configs: { [QUEUE]: { concurrency: JOBS_IN_FLIGHT } } } },
];

/**
 * Row 34: three engines on three NATS servers that sync each write, all on this machine: jobs from being added until
 * their worker is called, and calls with callers and workers at every engine, compared with one engine that is alone.
 */
export const clusterJobs: Scenario = {
  title: "A cluster of three engines: durable jobs, and calls at every engine",
  rows: [34],
  async run(context) {
    const { options, generator, folder } = context;
    const nats = await startNatsServers("bench", NODES.length, { storeFolder: `${folder}/nats` });
    for (const server of nats.servers) adopt(server.process);
    const node = (name: string) => () =>
      engineFor(context, name, MODULES, { name: "bench", node: name, nats: { servers: nats.urls } });
    const starting = { alone: () => engineFor(context, "alone", MODULES), a: node("a"), b: node("b"), c: node("c") };
    const others: Generator[] = [];
    try {
      for (let count = 1; count < NODES.length; count++) others.push(await Generator.start());
      return await withServers(starting, async ({ alone, a, b, c }) => {
        const timing = { payloadBytes: PAYLOAD_BYTES, warmUpMs: options.warmUpMs, measureMs: options.measureMs };
        const jobs =
          ({ port, pid }: EngineProcess): Variant =>
          () =>
            generator.measure({
              ...{ ...timing, kind: "jobs", queue: QUEUE, port, concurrency: JOBS_IN_FLIGHT, observe: [pid] },
            });
        const calls =
          (engines: readonly EngineProcess[]): Variant =>
          async () => {
            const windows = engines.map(({ port, pid }, at) =>
              (others[at - 1] ?? generator).measure({
                ...{ ...timing, kind: "calls", target: "echo", port, callers: 1, callees: 1 },
                ...{ concurrency: CALLS_IN_FLIGHT, observe: [pid] },
              }),
            );
            return together(await Promise.all(windows));
          };
        const variants: Record<string, Variant> = {
          "jobs, alone": jobs(alone),
          "jobs, cluster": jobs(a),
          "calls, alone": calls([alone]),
          "calls, at each engine": calls([a, b, c]),
        };
        const windows = await interleave(variants, options.rounds);
        return { measurements: measurementsOf(windows), bars: barsOf((name) => windows[name] ?? []) };
      });
    } finally {
      for (const other of others) await other.stop();
      await nats.stop();
    }
  },
};

/** One window of loads that ran at the same time. */
function together([first, ...rest]: readonly Window[]): Window {
  if (first === undefined) throw new Error("nothing was measured");
  return rest.reduce(
    (sum, window) => ({
      operations: sum.operations + window.operations,
      elapsedMs: Math.max(sum.elapsedMs, window.elapsedMs),
      p50Us: Math.max(sum.p50Us, window.p50Us),
      p99Us: Math.max(sum.p99Us, window.p99Us),
      cpuUs: [...sum.cpuUs, ...window.cpuUs],
      ownCpuUs: sum.ownCpuUs + window.ownCpuUs,
      peakResidentBytes: Math.max(sum.peakResidentBytes, window.peakResidentBytes),
    }),
    first,
  );
}

function barsOf(of: (name: string) => readonly Window[]): Bar[] {
  const common = { row: 34, standing: "quoted" } as const;
  return [
    {
      ...common,
      what: `G6: jobs from being added to done, ${JOBS_IN_FLIGHT} in flight at one engine`,
      measured: spread(of("jobs, cluster").map(operationsPerSecond)),
      ...{ unit: "/s", limit: 2_000, sense: "at least" },
    },
    {
      ...common,
      what: `G5: CPU per call with callers and workers at each engine, ${CALLS_IN_FLIGHT} each, vs alone`,
      measured: ratio(of("calls, at each engine").map(cpuUsPerOperation), of("calls, alone").map(cpuUsPerOperation)),
      ...{ unit: "x", limit: 1.15, sense: "at most" },
    },
  ];
}
