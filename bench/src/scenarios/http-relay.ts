import type { Bar } from "../bars.ts";
import type { EngineProcess } from "../engine-process.ts";
import { cpuUsPerOperation, type HttpLoad, operationsPerSecond, type Window } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import { type Server, startServer } from "../processes.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, OBSERVABILITY_OFF, type Scenario, withServers } from "./scenario.ts";

const IN_FLIGHT = [1, 32, 128] as const;
type InFlight = (typeof IN_FLIGHT)[number];

/** Measures HTTP requests that become calls, with and without observability, compared with a relay without features. */
export const httpRelay: Scenario = {
  title: "HTTP POST to a worker, against a naive relay on node:http and ws",
  rows: [30],
  run(context) {
    const { options, generator } = context;
    const starting = {
      off: () => engineFor(context, "http-unobserved", [OBSERVABILITY_OFF]),
      on: () => engineFor(context, "http-observed"),
      relay: () => startServer("http-relay"),
      bare: () => startServer("http-static"),
    };
    return withServers(starting, async ({ off, on, relay, bare }) => {
      const notes = placeApart(generator.pid, [off.pid, on.pid, relay.pid, bare.pid]);
      const timing = { kind: "http", warmUpMs: options.warmUpMs, measureMs: options.measureMs } as const;
      const posts = (server: Server, port: number, concurrency: InFlight): Variant => {
        const load: HttpLoad = {
          ...timing,
          port,
          concurrency,
          calls: { bridgePort: server.port, routes: 1 },
          observe: [server.pid],
        };
        return () => generator.measure(load);
      };
      const engine = (server: EngineProcess, concurrency: InFlight): Variant =>
        posts(server, server.httpPort, concurrency);
      const variants: Record<string, Variant> = {};
      for (const concurrency of IN_FLIGHT) {
        variants[nameOf("observability off", concurrency)] = engine(off, concurrency);
        variants[nameOf("observability on", concurrency)] = engine(on, concurrency);
        variants[nameOf("naive relay", concurrency)] = posts(relay, relay.port, concurrency);
      }
      variants[nameOf("bare node:http GET", 32)] = () =>
        generator.measure({ ...timing, port: bare.port, concurrency: 32, observe: [bare.pid] });
      const windows = await interleave(variants, options.rounds);
      return { measurements: measurementsOf(windows), notes, bars: barsOf(windows) };
    });
  },
};

function nameOf(side: string, concurrency: InFlight): string {
  return `${side}, c${concurrency}`;
}

function barsOf(windows: Readonly<Record<string, readonly Window[]>>): Bar[] {
  const compared = (side: string, concurrency: InFlight, value: (window: Window) => number) =>
    ratio(
      (windows[nameOf(side, concurrency)] ?? []).map(value),
      (windows[nameOf("naive relay", concurrency)] ?? []).map(value),
    );
  const limits = { "observability off": [1.25, 0.85, 1.2, 1.2], "observability on": [1.7, 0.65, 1.35, 1.5] } as const;
  return Object.entries(limits).flatMap(([side, [cpu, rate, p50, p99]]): Bar[] => {
    const common = { row: 30, unit: "x", sense: "at most", standing: "binding" } as const;
    return [
      {
        ...common,
        what: `HTTP CPU, c32, ${side}, vs naive relay`,
        measured: compared(side, 32, cpuUsPerOperation),
        limit: cpu,
      },
      {
        ...common,
        what: `HTTP rate, c32, ${side}, vs naive relay`,
        measured: compared(side, 32, operationsPerSecond),
        limit: rate,
        sense: "at least",
      },
      {
        ...common,
        what: `HTTP p50, c1, ${side}, vs naive relay`,
        measured: compared(side, 1, ({ p50Us }) => p50Us),
        limit: p50,
      },
      {
        ...common,
        what: `HTTP p99, c128, ${side}, vs naive relay`,
        measured: compared(side, 128, ({ p99Us }) => p99Us),
        limit: p99,
      },
    ];
  });
}
