import type { Bar } from "../bars.ts";
import { type CallLoad, operationsPerSecond, type Window } from "../generator/load.ts";
import { RequestProcess } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import type { SyncRate } from "../servers/fdatasync-loop.ts";
import type { StoreDurability, StoreOperation } from "../servers/item-store.ts";
import { ratio } from "../statistics.ts";
import { StoreProcess } from "../store-process.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const PAYLOAD_BYTES = 100;
const SYNC_TIMEOUT_MS = 30_000;
const IN_FLIGHT = [1, 128] as const;

/** A durable `state::set` may take at most this many times as long as a routed call plus one sync of the disk. */
const LIMIT_OF_SINGLE_SET = 1.5;

interface Case {
  readonly operation: StoreOperation;
  readonly durability: StoreDurability;
  readonly concurrency: (typeof IN_FLIGHT)[number];
}

/**
 * Reads are measured once, because durability does not affect them. They run last, because they read written values.
 */
const CASES: readonly Case[] = IN_FLIGHT.flatMap((concurrency) => [
  ...(["durable", "relaxed"] as const).flatMap((durability) => [
    { operation: "set", durability, concurrency } as const,
    { operation: "update", durability, concurrency } as const,
  ]),
  { operation: "get", durability: "durable", concurrency } as const,
]);

/**
 * Measures state calls, compared with the store without an engine, and with the number of syncs per second of this
 * disk.
 */
export const stateCalls: Scenario = {
  title: `State, values of ${PAYLOAD_BYTES} B, 1 and 128 in flight, durable and relaxed`,
  rows: [12],
  run(context) {
    const { options, generator } = context;
    const stateIn = (durability: StoreDurability) => () =>
      engineFor(context, `state-${durability}`, [
        { name: "svc-state", config: { adapter: { name: "file_based", config: { durability } } } },
      ]);
    const starting = {
      durable: stateIn("durable"),
      relaxed: stateIn("relaxed"),
      store: () => StoreProcess.start(context.folder),
    };
    return withServers(starting, async ({ durable, relaxed, store }) => {
      const disk = await RequestProcess.start<number, SyncRate>("servers/fdatasync-loop", [context.folder]);
      try {
        const timing = { payloadBytes: PAYLOAD_BYTES, warmUpMs: options.warmUpMs, measureMs: options.measureMs };
        const through = (
          engine: { readonly port: number; readonly pid: number },
          target: CallLoad["target"],
          concurrency: number,
        ): Variant => {
          const callees = target === "echo" ? 1 : 0;
          return () =>
            generator.measure({
              ...timing,
              kind: "calls",
              target,
              port: engine.port,
              callers: 1,
              callees,
              concurrency,
              observe: [engine.pid],
            });
        };
        const syncs: number[] = [];
        const variants: Record<string, Variant> = {
          "routed call, 1": through(durable, "echo", 1),
          "routed call, 128": async () => {
            syncs.push((await disk.ask(options.measureMs, SYNC_TIMEOUT_MS)).perSecond);
            return through(durable, "echo", 128)();
          },
        };
        for (const each of CASES) {
          variants[nameOf("engine", each)] = through(
            each.durability === "durable" ? durable : relaxed,
            `state::${each.operation}`,
            each.concurrency,
          );
          variants[nameOf("store", each)] = () => store.measure({ ...timing, ...each });
        }
        const windows = await interleave(variants, options.rounds);
        // The first round is discarded, so its disk rate is discarded too.
        const floor = syncs.slice(1);
        const of = (name: string): readonly Window[] => windows[name] ?? [];
        return { measurements: measurementsOf(windows), bars: barsOf(of, floor), notes: [syncNote(floor)] };
      } finally {
        await disk.stop();
      }
    });
  },
};

function nameOf(where: "engine" | "store", { operation, durability, concurrency }: Case): string {
  return `${where}: ${operation === "get" ? "get" : `${durability} ${operation}`}, ${concurrency}`;
}

function barsOf(windows: (name: string) => readonly Window[], floor: readonly number[]): Bar[] {
  const quoted = { row: 12, unit: "x", sense: "at least", standing: "quoted" } as const;
  const binding = { ...quoted, standing: "binding" } as const;
  const rates = (name: string): readonly number[] => windows(name).map(operationsPerSecond);
  const p50s = (name: string): readonly number[] => windows(name).map(({ p50Us }) => p50Us);
  const of = (each: Case): readonly number[] => rates(nameOf("engine", each));
  const set = (concurrency: 1 | 128): Case => ({ operation: "set", durability: "durable", concurrency });
  return [
    { ...binding, what: "durable sets, 128, vs fdatasync rate", measured: ratio(of(set(128)), floor), limit: 3 },
    {
      ...binding,
      what: "p50 of a durable set, 1, vs one fdatasync and one routed call",
      measured: ratio(
        p50s(nameOf("engine", set(1))),
        p50s("routed call, 1").map((us, round) => us + 1_000_000 / (floor[round] as number)),
      ),
      limit: LIMIT_OF_SINGLE_SET,
      sense: "at most",
    },
    {
      ...quoted,
      what: "gets, 128, vs routed calls",
      measured: ratio(of({ operation: "get", durability: "durable", concurrency: 128 }), rates("routed call, 128")),
      limit: 0.8,
    },
    ...CASES.filter(({ operation }) => operation !== "get").map((each): Bar => {
      const what = `${nameOf("engine", each).slice("engine: ".length)}, vs the store alone`;
      return { ...quoted, what, measured: ratio(of(each), rates(nameOf("store", each))), limit: leastOfStore(each) };
    }),
  ];
}

/** A single call in flight wakes another process twice, which takes longer than a write without a sync. */
function leastOfStore({ durability, concurrency }: Case): number {
  if (concurrency === 128) return 0.5;
  return durability === "durable" ? 0.3 : 0.05;
}

function syncNote(floor: readonly number[]): string {
  return `fdatasync, one after the other: ${floor.map((rate) => Math.round(rate)).join(", ")} per second`;
}
