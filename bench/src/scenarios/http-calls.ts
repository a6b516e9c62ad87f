import type { Bar } from "../bars.ts";
import type { EngineProcess } from "../engine-process.ts";
import { cpuUsPerOperation, type HttpLoad, operationsPerSecond } from "../generator/load.ts";
import { startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio, spread } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const MANY_ROUTES = 1000;
/**
 * Median latency of one HTTP call that the reference system has published. It was measured on other hardware, so it
 * shows only the magnitude.
 */
const PEER_P50_US = 323;
/** Rate of 128 concurrent HTTP calls, computed from a latency that the reference system has published. */
const PEER_REQUESTS_PER_S = 2270;

/** Measures requests that become calls, compared with a simple server, and the cost of many routes. */
export const httpCalls: Scenario = {
  title: "HTTP requests that become calls",
  rows: [8, 9],
  run(context) {
    const { options, generator } = context;
    const starting = {
      one: () => engineFor(context, "http-one-route"),
      many: () => engineFor(context, "http-many-routes"),
      bare: () => startServer("http-static"),
    };
    return withServers(starting, async ({ one, many, bare }) => {
      const timing = { kind: "http", warmUpMs: options.warmUpMs, measureMs: options.measureMs } as const;
      const calls = (engine: EngineProcess, routes: number, concurrency: number): HttpLoad => ({
        ...timing,
        port: engine.httpPort,
        concurrency,
        calls: { bridgePort: engine.port, routes },
        observe: [engine.pid],
      });
      const windows = await interleave(
        {
          "call c32": () => generator.measure(calls(one, 1, 32)),
          "bare node:http GET c32": () =>
            generator.measure({ ...timing, port: bare.port, concurrency: 32, observe: [bare.pid] }),
          "call c128, 1 route": () => generator.measure(calls(one, 1, 128)),
          "call c128, 1,000 routes": () => generator.measure(calls(many, MANY_ROUTES, 128)),
          "call c1": () => generator.measure(calls(one, 1, 1)),
          "call c32, 1,000 routes": () => generator.measure(calls(many, MANY_ROUTES, 32)),
          "call c1, 1,000 routes": () => generator.measure(calls(many, MANY_ROUTES, 1)),
        },
        options.rounds,
      );
      const cpu = (name: keyof typeof windows): number[] => windows[name].map(cpuUsPerOperation);
      const rate = (name: keyof typeof windows): number[] => windows[name].map(operationsPerSecond);
      const quoted = { standing: "quoted" } as const;
      const bars: Bar[] = [
        {
          ...quoted,
          row: 8,
          what: "HTTP call CPU, c32, vs bare node:http GET",
          measured: ratio(cpu("call c32"), cpu("bare node:http GET c32")),
          unit: "x",
          limit: 3.5,
          sense: "at most",
        },
        {
          ...quoted,
          row: 8,
          what: "HTTP call rate, c32, vs bare node:http GET",
          measured: ratio(rate("call c32"), rate("bare node:http GET c32")),
          unit: "x",
          limit: 0.3,
          sense: "at least",
        },
        {
          ...quoted,
          row: 9,
          what: "CPU with 1,000 routes vs 1 route, c128",
          measured: ratio(cpu("call c128, 1,000 routes"), cpu("call c128, 1 route")),
          unit: "x",
          limit: 1.1,
          sense: "at most",
        },
        {
          ...quoted,
          row: 9,
          what: "p50 of an HTTP call, c1",
          measured: spread(windows["call c1"].map((window) => window.p50Us)),
          unit: "us",
          limit: PEER_P50_US,
          sense: "at most",
        },
        {
          ...quoted,
          row: 9,
          what: `HTTP call rate, c128, vs the peer's ${PEER_REQUESTS_PER_S}/s`,
          measured: spread(rate("call c128, 1 route").map((perSecond) => perSecond / PEER_REQUESTS_PER_S)),
          unit: "x",
          limit: 8,
          sense: "at least",
        },
      ];
      return { measurements: measurementsOf(windows), bars };
    });
  },
};
