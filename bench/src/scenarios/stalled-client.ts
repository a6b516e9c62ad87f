import type { FanOutLoad } from "../generator/load.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const CLIENTS = 100;
const PAYLOAD_BYTES = 1_000;
/** 100 events per second to 100 clients keep no core busy, so that the latency is not caused by load. */
const INTERVAL_MS = 10;
const WINDOWS_LONGER = 3;
/** Before the measurement, the messages to the stalled client must be sent and garbage-collected. */
const SETTLE_MS = 1_000;

/** Measures the effect of a client that has stopped reading on the other clients. */
export const stalledClient: Scenario = {
  title: `${CLIENTS} stream clients, while one more does not read (operations are events)`,
  rows: [16],
  run(context) {
    const { options, generator } = context;
    return withServers(
      { engine: () => engineFor(context, "stalled-client", [{ name: "svc-stream" }]) },
      async ({ engine }) => {
        const load = (withStalledClient: boolean): FanOutLoad => ({
          kind: "fan-out",
          via: "stream",
          port: engine.realtimePort,
          bridgePort: engine.port,
          clients: CLIENTS,
          payloadBytes: PAYLOAD_BYTES,
          intervalMs: INTERVAL_MS,
          withStalledClient,
          warmUpMs: SETTLE_MS,
          // The measurement is longer than usual, because the 99th percentile needs enough events.
          measureMs: WINDOWS_LONGER * options.measureMs,
          observe: [engine.pid],
        });
        const windows = await interleave(
          {
            "all read": () => generator.measure(load(false)),
            "one does not read": () => generator.measure(load(true)),
          },
          options.rounds,
        );
        return {
          measurements: measurementsOf(windows),
          bars: [
            {
              row: 16,
              what: `p99 of ${CLIENTS} clients while one does not read vs without it`,
              measured: ratio(
                windows["one does not read"].map((window) => window.p99Us),
                windows["all read"].map((window) => window.p99Us),
              ),
              unit: "x",
              limit: 2,
              sense: "at most",
              standing: "binding",
            },
          ],
        };
      },
    );
  },
};
