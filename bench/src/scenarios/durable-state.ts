import { type CallLoad, operationsPerSecond } from "../generator/load.ts";
import { RequestProcess } from "../processes.ts";
import { interleave } from "../rounds.ts";
import type { SyncRate } from "../servers/fdatasync-loop.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const IN_FLIGHT = 128;
const PAYLOAD_BYTES = 100;
const SYNC_TIMEOUT_MS = 30_000;

/** Row 12: state that is on disk before the answer, against how often this disk can sync at all. */
export const durableState: Scenario = {
  title: `State through the engine, ${IN_FLIGHT} in flight`,
  rows: [12],
  run(context) {
    const { options, generator } = context;
    return withServers({ engine: () => engineFor(context, "durable-state", ["svc-state"]) }, async ({ engine }) => {
      const disk = await RequestProcess.start<number, SyncRate>("servers/fdatasync-loop", [context.folder]);
      try {
        const load = (target: CallLoad["target"]): CallLoad => ({
          kind: "calls",
          target,
          port: engine.port,
          callers: 1,
          callees: target === "echo" ? 1 : 0,
          concurrency: IN_FLIGHT,
          payloadBytes: PAYLOAD_BYTES,
          warmUpMs: options.warmUpMs,
          measureMs: options.measureMs,
          observe: [engine.pid],
        });
        const syncsPerSecond: number[] = [];
        const windows = await interleave(
          {
            "state::set": async () => {
              syncsPerSecond.push((await disk.ask(options.measureMs, SYNC_TIMEOUT_MS)).perSecond);
              return generator.measure(load("state::set"));
            },
            "state::get": () => generator.measure(load("state::get")),
            "routed call": () => generator.measure(load("echo")),
          },
          options.rounds,
        );
        // The first round is not measured, nor is its disk figure.
        const floor = syncsPerSecond.slice(1);
        const sets = windows["state::set"].map(operationsPerSecond);
        const gets = windows["state::get"].map(operationsPerSecond);
        const quoted = { row: 12, unit: "x", sense: "at least", standing: "quoted" } as const;
        return {
          measurements: measurementsOf(windows),
          bars: [
            { ...quoted, what: "durable sets vs fdatasync rate", measured: ratio(sets, floor), limit: 3 },
            { ...quoted, what: "gets vs routed calls", measured: ratio(gets, windows["routed call"].map(operationsPerSecond)), limit: 0.8 },
          ],
          notes: [`fdatasync, one after the other: ${floor.map((rate) => Math.round(rate)).join(", ")} per second`],
        };
      } finally {
        await disk.stop();
      }
    });
  },
};
