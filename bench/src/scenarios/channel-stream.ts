import { cpuUsPerOperation, operationsPerSecond, type StreamLoad } from "../generator/load.ts";
import { startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const TOTAL_BYTES = 100 * 1024 * 1024;
const ITEM_BYTES = 65_536;

/**
 * Measures the transfer of 100 MiB through a channel, compared with a simple program that forwards the same frames.
 */
export const channelStream: Scenario = {
  title: "100 MiB through a channel (operations are MiB)",
  rows: [13],
  run(context) {
    const { options, generator } = context;
    const starting = { engine: () => engineFor(context, "channel-stream"), relay: () => startServer("ws-relay") };
    return withServers(starting, async ({ engine, relay }) => {
      const load = (via: StreamLoad["via"], server: { readonly port: number; readonly pid: number }): StreamLoad => ({
        kind: "stream",
        via,
        port: server.port,
        totalBytes: TOTAL_BYTES,
        itemBytes: ITEM_BYTES,
        warmUpMs: 0,
        measureMs: 0,
        observe: [server.pid],
      });
      const windows = await interleave(
        {
          channel: () => generator.measure(load("channel", engine)),
          "bare ws relay": () => generator.measure(load("relay", relay)),
        },
        options.rounds,
      );
      const quoted = { row: 13, unit: "x", standing: "quoted" } as const;
      return {
        measurements: measurementsOf(windows),
        bars: [
          {
            ...quoted,
            what: "channel throughput vs a bare ws relay",
            measured: ratio(
              windows.channel.map(operationsPerSecond),
              windows["bare ws relay"].map(operationsPerSecond),
            ),
            limit: 0.8,
            sense: "at least",
          },
          {
            ...quoted,
            what: "channel CPU per MiB vs a bare ws relay",
            measured: ratio(windows.channel.map(cpuUsPerOperation), windows["bare ws relay"].map(cpuUsPerOperation)),
            limit: 1.25,
            sense: "at most",
          },
        ],
      };
    });
  },
};
