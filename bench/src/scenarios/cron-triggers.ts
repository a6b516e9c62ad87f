import { connect } from "@svc-runtime/sdk";
import { cpuTimeUs, residentBytes } from "../cpu.ts";
import type { EngineProcess } from "../engine-process.ts";
import { pause } from "../ports.ts";
import { percentile, spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import { engineFor, type Scenario, type ScenarioContext } from "./scenario.ts";

const MB = 1024 * 1024;
/** Number of triggers. It is the maximum per connection. */
const TRIGGERS = 10_000;
/** Number of triggers that are due at the same time, every five seconds. */
const TOGETHER = 1_000;
const QUICK_TRIGGERS = 1_000;
const QUICK_TOGETHER = 100;
const MAX_ROUNDS = 3;
const SETTLE_MS = 2_000;
/** Duration of the CPU measurement at rest, in milliseconds. */
const REST_MS = 5_000;
/** Duration of the measurement of lateness, in milliseconds. The triggers come due at least twice in this time. */
const TICKS_MS = 11_500;

interface Round {
  readonly registeringMs: number;
  readonly emptyUsPerSecond: number;
  readonly restUsPerSecond: number;
  readonly triggersMb: number;
  readonly p50Ms: number;
  readonly maxMs: number;
}

/** Measures an engine with many cron triggers with a thousand different expressions. Each round starts a new engine. */
export const cronTriggers: Scenario = {
  title: "Cron triggers: CPU at rest, lateness when many come due together",
  rows: [20],
  async run(context) {
    const { quick } = context.options;
    const [triggers, together] = quick ? [QUICK_TRIGGERS, QUICK_TOGETHER] : [TRIGGERS, TOGETHER];
    const rounds: Round[] = [];
    for (let round = 0; round < Math.min(context.options.rounds, MAX_ROUNDS); round++)
      rounds.push(await measure(context, { round, triggers, together }));
    const of = (value: (round: Round) => number) => spread(rounds.map(value));
    const quoted = { row: 20, sense: "at most", standing: "quoted" } as const;
    const median = (value: (round: Round) => number): string => formatNumber(of(value).median);
    return {
      measurements: [],
      notes: [
        `${triggers} triggers are registered in ${median((round) => round.registeringMs)} ms and take ${median((round) => round.triggersMb)} MB`,
        `CPU of the engine with its one worker and no trigger: ${median((round) => round.emptyUsPerSecond)} us in each second`,
        `median lateness at the worker: ${median((round) => round.p50Ms)} ms`,
      ],
      bars: [
        {
          ...quoted,
          what: `CPU in a second at rest, ${triggers} triggers`,
          measured: of((round) => round.restUsPerSecond),
          unit: "us",
          limit: 20_000,
        },
        {
          ...quoted,
          what: `latest of ${together} starts that come due together`,
          measured: of((round) => round.maxMs),
          unit: "ms",
          limit: 1_000,
        },
      ],
    };
  },
};

async function measure(
  context: ScenarioContext,
  { round, triggers, together }: { round: number; triggers: number; together: number },
): Promise<Round> {
  const engine = await engineFor(context, `cron-${round}`, [{ name: "svc-cron" }]);
  const worker = connect(`ws://127.0.0.1:${engine.port}`, { name: "bench-cron" });
  try {
    let late: number[] = [];
    worker.registerFunction("bench::tick", ({ scheduled_time }: { readonly scheduled_time: string }) => {
      late.push(Date.now() - Date.parse(scheduled_time));
    });
    await pause(SETTLE_MS);
    const emptyUsPerSecond = await cpuPerSecond(engine);
    const before = residentBytes(engine.pid);
    const startedMs = performance.now();
    const config = (index: number) => ({
      // These triggers come due about twelve hours from now, so that none of them runs during the bench.
      expression: `${index % 60} ${Math.floor(index / 60) % 17} ${(new Date().getUTCHours() + 12) % 24} * * *`,
      startAt: new Date(index * 1_000).toISOString(),
    });
    const resting = Array.from({ length: triggers - together }, (_, index) => config(index));
    await Promise.all(
      resting.map(
        (each) => worker.registerTrigger({ type: "cron", function_id: "bench::tick", config: each }).registered,
      ),
    );
    const registeringMs = performance.now() - startedMs;
    await pause(SETTLE_MS);
    const restUsPerSecond = await cpuPerSecond(engine);
    const triggersMb = (residentBytes(engine.pid) - before) / MB;
    const due = Array.from({ length: together }, (_, index) => ({
      expression: "*/5 * * * * *",
      startAt: new Date(index * 1_000).toISOString(),
    }));
    await Promise.all(
      due.map((each) => worker.registerTrigger({ type: "cron", function_id: "bench::tick", config: each }).registered),
    );
    // Wait until the triggers have come due once, and ignore these starts: the last triggers may still have been
    // registered at that time.
    await pause(5_500);
    late = [];
    await pause(TICKS_MS);
    if (late.length < together) throw new Error(`${late.length} ticks came where at least ${together} were due`);
    late.sort((a, b) => a - b);
    return {
      registeringMs,
      emptyUsPerSecond,
      restUsPerSecond,
      triggersMb,
      p50Ms: percentile(late, 0.5),
      maxMs: percentile(late, 1),
    };
  } finally {
    await worker.shutdown();
    await engine.stop();
  }
}

async function cpuPerSecond(engine: EngineProcess): Promise<number> {
  const before = cpuTimeUs(engine.pid);
  await pause(REST_MS);
  return ((cpuTimeUs(engine.pid) - before) / REST_MS) * 1_000;
}
