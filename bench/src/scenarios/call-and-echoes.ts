import type { Bar } from "../bars.ts";
import { cpuUsPerOperation } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import { startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { echoCalls, engineFor, measurementsOf, OBSERVABILITY_OFF, type Scenario, withServers } from "./scenario.ts";

const PAYLOAD_BYTES = 100;
/** A routed call is two frames in and two out, twice as many as for an echo. */
const ECHOES_PER_CALL = 2;

/** Measures one call at a time, with and without observability, compared with the same frames through a `ws` server. */
export const callAndEchoes: Scenario = {
  title: `Routed calls, ${PAYLOAD_BYTES} B, one in flight, against two echoes of a bare ws server`,
  rows: [31],
  run(context) {
    const { options, generator } = context;
    const starting = {
      off: () => engineFor(context, "single-unobserved", [OBSERVABILITY_OFF]),
      on: () => engineFor(context, "single-observed"),
      echo: () => startServer("ws-echo"),
    };
    return withServers(starting, async ({ off, on, echo }) => {
      const notes = placeApart(generator.pid, [off.pid, on.pid, echo.pid]);
      const size = { concurrency: 1, payloadBytes: PAYLOAD_BYTES };
      const windows = await interleave(
        {
          "observability off": () => generator.measure(echoCalls(off, options, size)),
          "observability on": () => generator.measure(echoCalls(on, options, size)),
          "one ws echo": () => generator.measure({ ...echoCalls(echo, options, size), kind: "echo" }),
        },
        options.rounds,
      );
      const echoes = windows["one ws echo"].map((window) => cpuUsPerOperation(window) * ECHOES_PER_CALL);
      const bars: Bar[] = [
        {
          row: 31,
          what: "engine CPU per call, c1, observability off, vs two ws echoes",
          measured: ratio(windows["observability off"].map(cpuUsPerOperation), echoes),
          unit: "x",
          limit: 1.35,
          sense: "at most",
          standing: "binding",
        },
      ];
      return { measurements: measurementsOf(windows), notes, bars };
    });
  },
};
