import { connect, silentLogger } from "@svc-runtime/sdk";
import { residentBytes } from "../cpu.ts";
import { pause } from "../ports.ts";
import { ratio, spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import { engineFor, type Scenario, type ScenarioContext } from "./scenario.ts";

const MB = 1024 * 1024;
const JOBS = 100_000;
const QUICK_JOBS = 10_000;
const JOBS_AT_ONCE = 1_000;
const PAYLOAD = { to: "somebody@example.com", text: "x".repeat(60) };
/** Wait after the engine listens, before memory is read, in milliseconds. */
const SETTLE_MS = 1_500;

interface Round {
  readonly listeningMs: number;
  readonly idleMb: number;
}

/**
 * Measures an engine with very many jobs that wait for a function, compared with an engine with an empty queue. Each
 * round starts new engines.
 */
export const waitingJobs: Scenario = {
  title: "Very many waiting jobs: start and memory",
  rows: [22],
  async run(context) {
    const jobs = context.options.quick ? QUICK_JOBS : JOBS;
    const filledMs = await fill(context, jobs);
    const rounds: { readonly many: Round; readonly none: Round }[] = [];
    // This start is not measured, because the first start reads all files, including the engine's own, from the disk.
    await measure(context, "many");
    for (let round = 0; round < context.options.rounds; round++)
      rounds.push({ many: await measure(context, "many"), none: await measure(context, "none") });
    const of = (side: "many" | "none", value: (round: Round) => number): number[] =>
      rounds.map((round) => value(round[side]));
    const quoted = { row: 22, unit: "x", sense: "at most", standing: "quoted" } as const;
    const median = (value: (round: Round) => number): string => formatNumber(spread(of("many", value)).median);
    return {
      measurements: [],
      notes: [
        `${jobs} jobs, ${JOBS_AT_ONCE} at a time, were stored in ${formatNumber(filledMs)} ms`,
        `with ${jobs} waiting jobs it listens after ${median((round) => round.listeningMs)} ms and takes ${median((round) => round.idleMb)} MB`,
      ],
      bars: [
        {
          ...quoted,
          what: `start with ${jobs} waiting jobs vs none`,
          measured: ratio(
            of("many", (round) => round.listeningMs),
            of("none", (round) => round.listeningMs),
          ),
          limit: 1.25,
        },
        {
          ...quoted,
          what: `RSS with ${jobs} waiting jobs vs none`,
          measured: ratio(
            of("many", (round) => round.idleMb),
            of("none", (round) => round.idleMb),
          ),
          limit: 1.1,
        },
      ],
    };
  },
};

const MODULES = [{ name: "svc-queue" }] as const;

async function fill(context: ScenarioContext, jobs: number): Promise<number> {
  const engine = await engineFor(context, "many", MODULES);
  try {
    const worker = connect(`ws://127.0.0.1:${engine.port}`, {
      name: "bench-filler",
      handleSignals: false,
      logger: silentLogger,
    });
    const started = performance.now();
    const some = Array.from({ length: JOBS_AT_ONCE }, () => ({
      queue: "default",
      functionId: "bench::nobody",
      data: PAYLOAD,
    }));
    for (let stored = 0; stored < jobs; stored += JOBS_AT_ONCE) await worker.queue.enqueueMany(some);
    const filledMs = performance.now() - started;
    await worker.shutdown();
    return filledMs;
  } finally {
    await engine.stop();
  }
}

async function measure(context: ScenarioContext, name: "many" | "none"): Promise<Round> {
  const engine = await engineFor(context, name, MODULES);
  try {
    await pause(SETTLE_MS);
    return { listeningMs: engine.listeningAfterMs, idleMb: residentBytes(engine.pid) / MB };
  } finally {
    await engine.stop();
  }
}
