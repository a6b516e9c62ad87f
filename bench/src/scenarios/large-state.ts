import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { residentBytes } from "../cpu.ts";
import type { EngineProcess } from "../engine-process.ts";
import type { Window } from "../generator/load.ts";
import { pause } from "../ports.ts";
import { ratio, spread } from "../statistics.ts";
import { StoreProcess } from "../store-process.ts";
import { formatNumber } from "../table.ts";
import { engineFor, measurementsOf, type Scenario, type ScenarioContext } from "./scenario.ts";

const MB = 1024 * 1024;
const ITEMS = 1_000_000;
const QUICK_ITEMS = 50_000;
/** Number of items of the small scope. The page with PAGE_PREFIX is in the middle of this scope too. */
const FEW_ITEMS = 10_000;
const PAYLOAD_BYTES = 100;
/** Wait after the engine listens, before memory is read, in milliseconds. */
const SETTLE_MS = 1_500;

interface Round {
  readonly listeningMs: number;
  readonly idleMb: number;
  readonly pages: Window;
}

/**
 * Measures an engine with very many state items, compared with an engine with few items. Each round starts new engines.
 */
export const largeState: Scenario = {
  title: "State with very many items: start, memory, pages of 100 (operations are pages)",
  rows: [14],
  async run(context) {
    const items = context.options.quick ? QUICK_ITEMS : ITEMS;
    const store = await StoreProcess.start(context.folder);
    try {
      await fill(store, context, "many", items);
      await fill(store, context, "few", FEW_ITEMS);
    } finally {
      await store.stop();
    }
    const rounds: { readonly many: Round; readonly few: Round }[] = [];
    // This start is not measured, because the first start reads all files, including the engine's own, from the disk.
    await measure(context, "many");
    for (let round = 0; round < context.options.rounds; round++)
      rounds.push({ many: await measure(context, "many"), few: await measure(context, "few") });
    const of = (side: "many" | "few", value: (round: Round) => number): number[] =>
      rounds.map((round) => value(round[side]));
    const pageUs = (round: Round): number => round.pages.p50Us;
    const compared = (value: (round: Round) => number) => ratio(of("many", value), of("few", value));
    const quoted = { row: 14, unit: "x", sense: "at most", standing: "quoted" } as const;
    return {
      measurements: measurementsOf({
        [`${items} items`]: rounds.map(({ many }) => many.pages),
        [`${FEW_ITEMS} items`]: rounds.map(({ few }) => few.pages),
      }),
      notes: [
        `with ${items} items it listens after ${formatNumber(spread(of("many", (round) => round.listeningMs)).median)} ms and takes ${formatNumber(spread(of("many", (round) => round.idleMb)).median)} MB`,
      ],
      bars: [
        {
          ...quoted,
          what: `start with ${items} items vs ${FEW_ITEMS}`,
          measured: compared((round) => round.listeningMs),
          limit: 1.25,
        },
        {
          ...quoted,
          what: `RSS with ${items} items vs ${FEW_ITEMS}`,
          measured: compared((round) => round.idleMb),
          limit: 1.1,
        },
        { ...quoted, what: `p50 of a page in ${items} items vs ${FEW_ITEMS}`, measured: compared(pageUs), limit: 1.5 },
      ],
    };
  },
};

async function fill(store: StoreProcess, { folder }: ScenarioContext, name: string, items: number): Promise<void> {
  const dataDir = join(folder, name, ".svc", "data");
  mkdirSync(dataDir, { recursive: true });
  await store.fill({ dataDir, items, payloadBytes: PAYLOAD_BYTES });
}

async function measure(context: ScenarioContext, name: string): Promise<Round> {
  const engine: EngineProcess = await engineFor(context, name, [{ name: "svc-state" }]);
  try {
    await pause(SETTLE_MS);
    const idleMb = residentBytes(engine.pid) / MB;
    const { warmUpMs, measureMs } = context.options;
    const pages = await context.generator.measure({
      kind: "calls",
      target: "state::entries",
      port: engine.port,
      callers: 1,
      callees: 0,
      concurrency: 1,
      payloadBytes: PAYLOAD_BYTES,
      warmUpMs,
      measureMs,
      observe: [engine.pid],
    });
    return { listeningMs: engine.listeningAfterMs, idleMb, pages };
  } finally {
    await engine.stop();
  }
}
