import type { CallLoad } from "../generator/load.ts";
import { placeApart } from "../pinning.ts";
import { type Server, startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { echoCalls, engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const CONCURRENCY = 16;
const PAYLOAD_BYTES = 100;
/** Share of sampled traces. With it, the engine sends some thousand spans per second, like an engine under load. */
const SAMPLING_RATIO = 0.1;

/** Measures the effect on callers if the OTLP collector is killed while the engine sends spans to it. */
export const collectorOutage: Scenario = {
  title: `Routed calls, ${PAYLOAD_BYTES} B, ${CONCURRENCY} in flight, every tenth trace sent by OTLP`,
  rows: [25],
  run(context) {
    const { options, generator } = context;
    const engineTo = (name: string, port: number) =>
      engineFor(context, name, [
        {
          name: "svc-observability",
          config: {
            exporter: "both",
            endpoint: `http://127.0.0.1:${port}`,
            protocol: "http/protobuf",
            sampling_ratio: SAMPLING_RATIO,
          },
        },
      ]);
    const collectors = { healthy: () => startServer("otlp-collector"), killed: () => startServer("otlp-collector") };
    return withServers(collectors, ({ healthy, killed }) =>
      withServers(
        { sending: () => engineTo("sending", healthy.port), waiting: () => engineTo("waiting", killed.port) },
        async ({ sending, waiting }) => {
          const notes = placeApart(generator.pid, [sending.pid, waiting.pid]);
          const calls = (server: Server): CallLoad =>
            echoCalls(server, options, { concurrency: CONCURRENCY, payloadBytes: PAYLOAD_BYTES });
          await killed.stop();
          const windows = await interleave(
            {
              "collector takes everything": () => generator.measure(calls(sending)),
              "collector was killed": () => generator.measure(calls(waiting)),
            },
            options.rounds,
          );
          return {
            measurements: measurementsOf(windows),
            notes,
            bars: [
              {
                row: 25,
                what: "p99 of calls while the collector is killed vs healthy",
                measured: ratio(
                  windows["collector was killed"].map(({ p99Us }) => p99Us),
                  windows["collector takes everything"].map(({ p99Us }) => p99Us),
                ),
                unit: "x",
                limit: 1.2,
                sense: "at most",
                standing: "quoted",
              },
            ],
          };
        },
      ),
    );
  },
};
