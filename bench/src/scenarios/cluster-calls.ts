import { startNatsServers } from "@svc-runtime/engine/testing";
import type { Bar } from "../bars.ts";
import type { EngineProcess, ModuleEntry } from "../engine-process.ts";
import { type CallLoad, cpuUsPerOperation, operationsPerSecond, type Window } from "../generator/load.ts";
import { adopt } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio, spread } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const PAYLOAD_BYTES = 200;
const STATE: readonly ModuleEntry[] = [{ name: "svc-state" }];
const IN_FLIGHT = [1, 64] as const;
const WRITES_IN_FLIGHT = [1, 128] as const;
const NODES = ["a", "b", "c"] as const;

/**
 * Measures a cluster of three engines and three NATS servers that sync each write, compared with a single engine. All
 * of them run on this machine. Measures calls to a worker of the same engine, calls to a worker of another engine, and
 * durable writes.
 */
export const clusterCalls: Scenario = {
  title: `A cluster of three engines: calls and sets of ${PAYLOAD_BYTES} B`,
  rows: [33],
  async run(context) {
    const { options, generator, folder } = context;
    const nats = await startNatsServers("bench", NODES.length, { storeFolder: `${folder}/nats` });
    for (const server of nats.servers) adopt(server.process);
    const node = (name: string) => () =>
      engineFor(context, name, STATE, { name: "bench", node: name, nats: { servers: nats.urls } });
    const starting = { alone: () => engineFor(context, "alone", STATE), a: node("a"), b: node("b"), c: node("c") };
    try {
      return await withServers(starting, async ({ alone, a, b }) => {
        const load = (engines: readonly EngineProcess[], more: Partial<CallLoad>): Variant => {
          const [port, calleePort] = engines.map((engine) => engine.port);
          const timing = { warmUpMs: options.warmUpMs, measureMs: options.measureMs };
          const own = {
            ...timing,
            kind: "calls",
            port: port as number,
            calleePort,
            payloadBytes: PAYLOAD_BYTES,
          } as const;
          const base = { ...own, target: "echo", callers: 1, callees: 1, concurrency: 1 } as const;
          return () => generator.measure({ ...base, observe: engines.map(({ pid }) => pid), ...more });
        };
        const variants: Record<string, Variant> = {};
        for (const concurrency of IN_FLIGHT) {
          variants[`call, alone, ${concurrency}`] = load([alone], { concurrency });
          variants[`call, same engine, ${concurrency}`] = load([a], { concurrency });
          variants[`call, other engine, ${concurrency}`] = load([a, b], { concurrency });
        }
        for (const concurrency of WRITES_IN_FLIGHT) {
          const write = { target: "state::set", callees: 0, concurrency } as const;
          variants[`set, alone, ${concurrency}`] = load([alone], write);
          variants[`set, cluster, ${concurrency}`] = load([a], write);
        }
        const windows = await interleave(variants, options.rounds);
        return { measurements: measurementsOf(windows), bars: barsOf((name) => windows[name] ?? []) };
      });
    } finally {
      await nats.stop();
    }
  },
};

function barsOf(of: (name: string) => readonly Window[]): Bar[] {
  const common = { row: 33, standing: "quoted" } as const;
  const cpu = (name: string): readonly number[] => of(name).map(cpuUsPerOperation);
  const rate = (name: string): readonly number[] => of(name).map(operationsPerSecond);
  const p50 = (name: string): readonly number[] => of(name).map(({ p50Us }) => p50Us);
  const added = p50("call, other engine, 1").map((us, round) => us - (p50("call, alone, 1")[round] as number));
  return [
    ...IN_FLIGHT.map(
      (count): Bar => ({
        ...common,
        what: `G4: CPU per call at the same engine, ${count}, vs alone`,
        measured: ratio(cpu(`call, same engine, ${count}`), cpu(`call, alone, ${count}`)),
        ...{ unit: "x", limit: 1.03, sense: "at most" },
      }),
    ),
    {
      ...common,
      what: "G3: p50 of a call to another engine, 1, above one alone",
      measured: spread(added),
      ...{ unit: "us", limit: 500, sense: "at most" },
    },
    {
      ...common,
      what: "G3: CPU of both engines per call to another engine, 64, vs alone",
      measured: ratio(cpu("call, other engine, 64"), cpu("call, alone, 64")),
      ...{ unit: "x", limit: 2.2, sense: "at most" },
    },
    {
      ...common,
      what: "G3: rate of calls to another engine, 64, vs alone",
      measured: ratio(rate("call, other engine, 64"), rate("call, alone, 64")),
      ...{ unit: "x", limit: 0.6, sense: "at least" },
    },
    {
      ...common,
      what: "G6: p50 of one set alone",
      measured: spread(p50("set, cluster, 1")),
      ...{ unit: "us", limit: 5_000, sense: "at most" },
    },
    {
      ...common,
      what: "G6: p50 of sets, 128 in flight at one engine",
      measured: spread(p50("set, cluster, 128")),
      ...{ unit: "us", limit: 30_000, sense: "at most" },
    },
    {
      ...common,
      what: "G6: sets, 128 in flight at one engine",
      measured: spread(rate("set, cluster, 128")),
      ...{ unit: "/s", limit: 5_000, sense: "at least" },
    },
  ];
}
