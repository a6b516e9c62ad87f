import type { Bar } from "../bars.ts";
import { type CallLoad, cpuUsPerOperation } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import { type Server, startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio, spread } from "../statistics.ts";
import type { Measurement } from "../table.ts";
import {
  echoCalls,
  engineFor,
  measurementsOf,
  type Scenario,
  type ScenarioContext,
  type ScenarioResult,
  withServers,
} from "./scenario.ts";

const MB = 1024 * 1024;
const CONCURRENCY = 16;

const SIZES = [
  { label: "10 KB", bytes: 10 * 1024, limit: 0.35 },
  { label: "100 KB", bytes: 100 * 1024, limit: 0.35 },
  { label: "1 MB", bytes: MB, limit: 0.45 },
] as const;
const RESIDENT_LIMIT_MB = 400;

/** Measures calls with larger payloads, compared with the naive engine, and the memory for the largest payload. */
export const payloadSizes: Scenario = {
  title: `Routed calls with larger payloads, ${CONCURRENCY} in flight, one caller and one callee connection`,
  rows: [4],
  async run(context) {
    const measurements: Measurement[] = [];
    const bars: Bar[] = [];
    const notes = new Set<string>();
    for (const size of SIZES) {
      const result = await runSize(context, size);
      measurements.push(...result.measurements);
      bars.push(...result.bars);
      for (const note of result.notes ?? []) notes.add(note);
    }
    return { measurements, bars, notes: [...notes] };
  },
};

function runSize(context: ScenarioContext, { label, bytes, limit }: (typeof SIZES)[number]): Promise<ScenarioResult> {
  const { options, generator } = context;
  const starting = { engine: () => engineFor(context, `payload-${bytes}`), naive: () => startServer("naive-engine") };
  return withServers(starting, async ({ engine, naive }) => {
    const notes = placeApart(generator.pid, [engine.pid, naive.pid]);
    const load = (server: Server): CallLoad =>
      echoCalls(server, options, { concurrency: CONCURRENCY, payloadBytes: bytes });
    const ours = `engine ${label}`;
    const theirs = `naive ${label}`;
    const windows = await interleave(
      { [ours]: () => generator.measure(load(engine)), [theirs]: () => generator.measure(load(naive)) },
      options.rounds,
    );
    const engineWindows = windows[ours] ?? [];
    const cpu = ratio(engineWindows.map(cpuUsPerOperation), (windows[theirs] ?? []).map(cpuUsPerOperation));
    const bars: Bar[] = [
      {
        row: 4,
        what: `engine CPU per call, ${label}, vs naive engine`,
        measured: cpu,
        unit: "x",
        limit,
        sense: "at most",
        standing: "binding",
      },
    ];
    if (bytes === MB) {
      const residentMb = spread(engineWindows.map((window) => window.peakResidentBytes / MB));
      // For memory, the maximum is compared with the limit, not the median.
      const measured = { ...residentMb, median: residentMb.max };
      bars.push({
        row: 4,
        what: `largest engine RSS in the ${label} run`,
        measured,
        unit: "MB",
        limit: RESIDENT_LIMIT_MB,
        sense: "at most",
        standing: "binding",
      });
    }
    return { measurements: measurementsOf(windows), bars, notes };
  });
}
