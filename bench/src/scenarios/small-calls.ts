import { type CallLoad, cpuUsPerOperation } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import { type Server, startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { echoCalls, engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const CONCURRENCY = 16;
const PAYLOAD_BYTES = 100;
/** A routed call is two frames in and two out, twice as many as for an echo. */
const ECHOES_PER_CALL = 2;

/** Measures the cost of routing a small call, compared with the naive engine and with an echo of simple frames. */
export const smallCalls: Scenario = {
  title: `Routed calls, ${PAYLOAD_BYTES} B, ${CONCURRENCY} in flight, one caller and one callee connection`,
  rows: [1, 2],
  run(context) {
    const { options, generator } = context;
    const starting = {
      engine: () => engineFor(context, "small-calls"),
      naive: () => startServer("naive-engine"),
      echo: () => startServer("ws-echo"),
    };
    return withServers(starting, async ({ engine, naive, echo }) => {
      const notes = placeApart(generator.pid, [engine.pid, naive.pid, echo.pid]);
      const calls = (server: Server): CallLoad =>
        echoCalls(server, options, { concurrency: CONCURRENCY, payloadBytes: PAYLOAD_BYTES });
      const windows = await interleave(
        {
          engine: () => generator.measure(calls(engine)),
          "naive engine": () => generator.measure(calls(naive)),
          "ws echo": () => generator.measure({ ...calls(echo), kind: "echo" }),
        },
        options.rounds,
      );
      const ours = windows.engine.map(cpuUsPerOperation);
      const echoes = windows["ws echo"].map((window) => cpuUsPerOperation(window) * ECHOES_PER_CALL);
      return {
        measurements: measurementsOf(windows),
        notes,
        bars: [
          {
            row: 1,
            what: "engine CPU per call, c16, vs naive engine",
            measured: ratio(ours, windows["naive engine"].map(cpuUsPerOperation)),
            unit: "x",
            limit: 0.6,
            sense: "at most",
            standing: "binding",
          },
          {
            row: 2,
            what: "engine CPU per call, c16, vs two ws echoes",
            measured: ratio(ours, echoes),
            unit: "x",
            limit: 1.2,
            sense: "at most",
            standing: "binding",
          },
        ],
      };
    });
  },
};
