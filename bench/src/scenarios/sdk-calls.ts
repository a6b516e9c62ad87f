import type { Bar } from "../bars.ts";
import { cpuUsPerOperation, operationsPerSecond } from "../generator/load.ts";
import { installPeers } from "../peers.ts";
import { type Server, startServer } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import type { Measurement } from "../table.ts";
import { type ClientPair, startNats, startPair } from "./client-pairs.ts";
import {
  engineFor,
  measurementsOf,
  type Scenario,
  type ScenarioContext,
  type ScenarioResult,
  withServers,
} from "./scenario.ts";

const PAYLOAD_BYTES = 100;
const CONCURRENCIES = [16, 128] as const;

const OURS = "own SDK, engine";
const OURS_NAIVE = "own SDK, naive engine";
const PUBLISHED = "published client, engine";
const PUBLISHED_NAIVE = "published client, naive engine";
const NATS = "moleculer over NATS";
const TCP = "moleculer over TCP";

type Pairs = Partial<Record<string, ClientPair>>;
type Measure = "CPU" | "rate";

/** The quoted budgets: the measured side, the concurrency and the side that it is compared with. */
const BUDGETS: readonly {
  row: number;
  of: string;
  over: string;
  measure: Measure;
  concurrency: number;
  limit: number;
}[] = [
  { row: 5, of: OURS, over: NATS, measure: "CPU", concurrency: 16, limit: 0.8 },
  { row: 5, of: OURS, over: NATS, measure: "CPU", concurrency: 128, limit: 0.85 },
  { row: 5, of: OURS, over: TCP, measure: "CPU", concurrency: 16, limit: 0.95 },
  { row: 5, of: OURS, over: TCP, measure: "CPU", concurrency: 128, limit: 0.75 },
  { row: 6, of: OURS, over: NATS, measure: "rate", concurrency: 16, limit: 1.2 },
  { row: 6, of: OURS, over: NATS, measure: "rate", concurrency: 128, limit: 1.0 },
  { row: 6, of: OURS, over: TCP, measure: "rate", concurrency: 128, limit: 0.9 },
  { row: 7, of: PUBLISHED, over: NATS, measure: "rate", concurrency: 128, limit: 0.7 },
  { row: 7, of: PUBLISHED, over: PUBLISHED_NAIVE, measure: "rate", concurrency: 16, limit: 1.15 },
  { row: 7, of: PUBLISHED, over: PUBLISHED_NAIVE, measure: "rate", concurrency: 128, limit: 1.15 },
];

/**
 * Measures calls between two processes through the engine, with the CPU time of all processes, compared with other
 * systems.
 */
export const sdkCalls: Scenario = {
  title: `Calls between two processes with real clients, ${PAYLOAD_BYTES} B; CPU of all processes together`,
  rows: [5, 6, 7],
  run(context) {
    const starting = { engine: () => engineFor(context, "sdk-calls"), naive: () => startServer("naive-engine") };
    return withServers(starting, async ({ engine, naive }) => {
      const pairs: Pairs = {};
      const stops: (() => Promise<void>)[] = [];
      const add = async (name: string, starting: Promise<ClientPair>): Promise<void> => {
        const pair = await starting;
        stops.unshift(() => pair.stop());
        pairs[name] = pair;
      };
      try {
        const through = (server: Server) => ({ address: `ws://127.0.0.1:${server.port}`, between: [server.pid] });
        await add(OURS, startPair({ kind: "svc", packages: "", ...through(engine) }));
        await add(OURS_NAIVE, startPair({ kind: "svc", packages: "", ...through(naive) }));
        const notes: string[] = [];
        if (context.options.peers) {
          const { packages, natsServer } = await installPeers();
          await add(PUBLISHED, startPair({ kind: "published", packages, ...through(engine) }));
          await add(PUBLISHED_NAIVE, startPair({ kind: "published", packages, ...through(naive) }));
          await add(TCP, startPair({ kind: "moleculer-tcp", packages, address: "", between: [] }));
          if (natsServer === undefined)
            notes.push(`${NATS}: not run, because there is no nats-server and Debian's package could not be had`);
          else {
            const broker = await startNats(natsServer);
            stops.unshift(() => broker.stop());
            await add(
              NATS,
              startPair({
                kind: "moleculer-nats",
                packages,
                address: `nats://127.0.0.1:${broker.port}`,
                between: [broker.pid],
              }),
            );
          }
        } else {
          notes.push(`${PUBLISHED}, ${NATS}, ${TCP}: not run; give --peers to install and measure them`);
        }
        return { ...(await measureAll(context, pairs)), notes };
      } finally {
        for (const stop of stops) await stop();
      }
    });
  },
};

async function measureAll({ options }: ScenarioContext, pairs: Pairs): Promise<ScenarioResult> {
  const measurements: Measurement[] = [];
  const bars: Bar[] = [];
  for (const concurrency of CONCURRENCIES) {
    const timing = {
      concurrency,
      payloadBytes: PAYLOAD_BYTES,
      warmUpMs: options.warmUpMs,
      measureMs: options.measureMs,
    };
    const variants: Record<string, Variant> = {};
    for (const [name, pair] of Object.entries(pairs))
      if (pair !== undefined) variants[name] = () => pair.measure(timing);
    const windows = await interleave(variants, options.rounds);
    measurements.push(
      ...measurementsOf(windows).map(({ variant, windows: of }) => ({
        variant: `c${concurrency} ${variant}`,
        windows: of,
      })),
    );
    for (const budget of BUDGETS) {
      const of = windows[budget.of];
      const over = windows[budget.over];
      if (budget.concurrency !== concurrency || of === undefined || over === undefined) continue;
      const value = budget.measure === "CPU" ? cpuUsPerOperation : operationsPerSecond;
      bars.push({
        row: budget.row,
        what: `${budget.measure} of ${budget.of}, c${concurrency}, vs ${budget.over}`,
        measured: ratio(of.map(value), over.map(value)),
        unit: "x",
        limit: budget.limit,
        sense: budget.measure === "CPU" ? "at most" : "at least",
        standing: "quoted",
      });
    }
  }
  return { measurements, bars };
}
