import { type CallLoad, cpuUsPerOperation } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import type { Server } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { echoCalls, engineFor, measurementsOf, OBSERVABILITY_OFF, type Scenario, withServers } from "./scenario.ts";

const CONCURRENCY = 16;
const PAYLOAD_BYTES = 100;

/** Measures the cost of recording every call, or every tenth trace, compared with an engine that records nothing. */
export const observedCalls: Scenario = {
  title: `Routed calls, ${PAYLOAD_BYTES} B, ${CONCURRENCY} in flight, by what is recorded of them`,
  rows: [23],
  run(context) {
    const { options, generator } = context;
    const starting = {
      on: () => engineFor(context, "observed"),
      tenth: () =>
        engineFor(context, "observed-tenth", [{ name: "svc-observability", config: { sampling_ratio: 0.1 } }]),
      off: () => engineFor(context, "unobserved", [OBSERVABILITY_OFF]),
    };
    return withServers(starting, async ({ on, tenth, off }) => {
      const notes = placeApart(generator.pid, [on.pid, tenth.pid, off.pid]);
      const calls = (server: Server): CallLoad =>
        echoCalls(server, options, { concurrency: CONCURRENCY, payloadBytes: PAYLOAD_BYTES });
      const windows = await interleave(
        {
          "observability on": () => generator.measure(calls(on)),
          "sampled at 10 %": () => generator.measure(calls(tenth)),
          "observability off": () => generator.measure(calls(off)),
        },
        options.rounds,
      );
      const unobserved = windows["observability off"].map(cpuUsPerOperation);
      const common = { row: 23, unit: "x", limit: 1.25, sense: "at most", standing: "quoted" } as const;
      return {
        measurements: measurementsOf(windows),
        notes,
        bars: [
          {
            ...common,
            what: "engine CPU per call, observability on, vs off",
            measured: ratio(windows["observability on"].map(cpuUsPerOperation), unobserved),
          },
          {
            ...common,
            what: "engine CPU per call, sampled at 10 %, vs off",
            measured: ratio(windows["sampled at 10 %"].map(cpuUsPerOperation), unobserved),
          },
        ],
      };
    });
  },
};
