import { openFileLimit, residentBytes } from "../cpu.ts";
import { pause } from "../ports.ts";
import { startServer } from "../processes.ts";
import { spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import { engineFor, type Scenario, type ScenarioContext, withServers } from "./scenario.ts";

const MB = 1024 * 1024;
const KB = 1024;
const CONNECTIONS = 9500;
const QUICK_CONNECTIONS = 1000;
const MAX_ROUNDS = 5;
/** Wait after starting or connecting, before memory is read, in milliseconds. */
const SETTLE_MS = 1500;

interface Footprint {
  /** Values of a simple Node server, measured directly before the engine. They show the share of Node itself. */
  readonly bare: { readonly listeningMs: number; readonly idleMb: number };
  readonly listeningMs: number;
  readonly idleMb: number;
  readonly kbPerConnection: number;
}

/** Measures the start and the memory of an idle engine. Each round starts a new engine. */
export const footprint: Scenario = {
  title: "Start and idle memory",
  rows: [11],
  async run(context) {
    const connections = Math.min(context.options.quick ? QUICK_CONNECTIONS : CONNECTIONS, openFileLimit() - 200);
    const rounds: Footprint[] = [];
    for (let round = 0; round < Math.min(context.options.rounds, MAX_ROUNDS); round++)
      rounds.push(await measure(context, round, connections));
    const of = (value: (footprint: Footprint) => number) => spread(rounds.map(value));
    const bareMs = of((round) => round.bare.listeningMs);
    const bareMb = of((round) => round.bare.idleMb);
    const binding = { row: 11, sense: "at most", standing: "binding" } as const;
    return {
      measurements: [],
      notes: [
        `for comparison, a bare node:http server: listens after ${formatNumber(bareMs.median)} ms, RSS ${formatNumber(bareMb.median)} MB`,
      ],
      bars: [
        {
          ...binding,
          what: `RSS per idle connection, of ${connections}`,
          measured: of((round) => round.kbPerConnection),
          unit: "KB",
          limit: 12,
        },
        { ...binding, what: "RSS of an idle engine", measured: of((round) => round.idleMb), unit: "MB", limit: 110 },
        {
          ...binding,
          what: "from process start to listening",
          measured: of((round) => round.listeningMs),
          unit: "ms",
          limit: 350,
        },
      ],
    };
  },
};

async function measureBare(): Promise<Footprint["bare"]> {
  const startedMs = performance.now();
  const bare = await startServer("http-static");
  const listeningMs = performance.now() - startedMs;
  try {
    await pause(SETTLE_MS);
    return { listeningMs, idleMb: residentBytes(bare.pid) / MB };
  } finally {
    await bare.stop();
  }
}

async function measure(context: ScenarioContext, round: number, connections: number): Promise<Footprint> {
  const bare = await measureBare();
  return withServers({ engine: () => engineFor(context, `footprint-${round}`) }, async ({ engine }) => {
    await pause(SETTLE_MS);
    const idle = residentBytes(engine.pid);
    await context.generator.perform({ kind: "open-idle", port: engine.port, connections });
    await pause(SETTLE_MS);
    const connected = residentBytes(engine.pid);
    await context.generator.perform({ kind: "close-idle" });
    return {
      bare,
      listeningMs: engine.listeningAfterMs,
      idleMb: idle / MB,
      kbPerConnection: (connected - idle) / KB / connections,
    };
  });
}
