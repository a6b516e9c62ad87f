import type { Bar } from "../bars.ts";
import { cpuUsPerOperation, type Window } from "../generator/load.ts";
import { type Layout, NOT_BOUND, place, placeLoad } from "../pinning.ts";
import { startServer } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { echoCalls, engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const PAYLOAD_BYTES = 100;

/**
 * Measures one call at a time, so that the engine cannot batch anything. Compares it with a TCP relay that forwards the
 * same bytes without parsing them. Most of the cost is waking the other process, which depends on its core. So each is
 * measured twice: on the same core as the load generator, and on a different core.
 */
export const singleCall: Scenario = {
  title: `Routed calls, ${PAYLOAD_BYTES} B, one in flight`,
  rows: [3],
  run(context) {
    const { options, generator } = context;
    const starting = { engine: () => engineFor(context, "single-call"), relay: () => startServer("tcp-relay") };
    return withServers(starting, async ({ engine, relay }) => {
      const timing = { payloadBytes: PAYLOAD_BYTES, warmUpMs: options.warmUpMs, measureMs: options.measureMs };
      const call = echoCalls(engine, options, { concurrency: 1, payloadBytes: PAYLOAD_BYTES });
      const bytes = { ...timing, kind: "relay", port: relay.port, observe: [relay.pid] } as const;
      const bound = placeLoad(generator.pid);
      const layouts: readonly (Layout | undefined)[] = bound ? ["one core", "two cores"] : [undefined];
      const variants: Record<string, Variant> = {};
      for (const layout of layouts) {
        const on = (pid: number, measure: Variant): Variant => {
          return () => {
            if (layout !== undefined) place(pid, layout);
            return measure();
          };
        };
        variants[nameIn("engine", layout)] = on(engine.pid, () => generator.measure(call));
        variants[nameIn("TCP relay", layout)] = on(relay.pid, () => generator.measure(bytes));
      }
      const windows = await interleave(variants, options.rounds);
      const bars = layouts.flatMap((layout) =>
        barsOf(nameIn("", layout), windows[nameIn("engine", layout)] ?? [], windows[nameIn("TCP relay", layout)] ?? []),
      );
      return { measurements: measurementsOf(windows), bars, notes: bound ? [] : [NOT_BOUND] };
    });
  },
};

function nameIn(what: string, layout: Layout | undefined): string {
  return layout === undefined ? what : `${what}, ${layout}`;
}

function barsOf(layout: string, ours: readonly Window[], floor: readonly Window[]): Bar[] {
  const p50 = (window: Window): number => window.p50Us;
  const common = { row: 3, unit: "x", sense: "at most", standing: "binding" } as const;
  return [
    {
      ...common,
      what: `engine CPU per call, c1${layout}, vs TCP relay`,
      measured: ratio(ours.map(cpuUsPerOperation), floor.map(cpuUsPerOperation)),
      limit: 2.4,
    },
    {
      ...common,
      what: `p50 of a call, c1${layout}, vs TCP relay`,
      measured: ratio(ours.map(p50), floor.map(p50)),
      limit: 2.1,
    },
  ];
}
