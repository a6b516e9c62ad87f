import { cpuUsPerOperation, type FanOutLoad, operationsPerSecond } from "../generator/load.ts";
import { startServer } from "../processes.ts";
import { interleave } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const CLIENTS = 1_000;
const QUICK_CLIENTS = 100;
const PAYLOAD_BYTES = 200;

/**
 * Measures how an event is sent to many clients, compared with a simple program that sends the same text to the same
 * number of clients.
 */
export const streamFanOut: Scenario = {
  title: "Stream events to many clients (operations are events)",
  rows: [15],
  run(context) {
    const { options, generator } = context;
    const clients = options.quick ? QUICK_CLIENTS : CLIENTS;
    const starting = {
      engine: () => engineFor(context, "stream-fan-out", [{ name: "svc-stream" }]),
      broadcast: () => startServer("ws-broadcast"),
    };
    return withServers(starting, async ({ engine, broadcast }) => {
      const load = {
        kind: "fan-out",
        clients,
        payloadBytes: PAYLOAD_BYTES,
        intervalMs: 0,
        withStalledClient: false,
        warmUpMs: options.warmUpMs,
      } as const;
      const through: FanOutLoad = {
        ...load,
        via: "stream",
        port: engine.realtimePort,
        bridgePort: engine.port,
        measureMs: options.measureMs,
        observe: [engine.pid],
      };
      const bare: FanOutLoad = {
        ...load,
        via: "broadcast",
        port: broadcast.port,
        bridgePort: 0,
        measureMs: options.measureMs,
        observe: [broadcast.pid],
      };
      const windows = await interleave(
        { stream: () => generator.measure(through), "bare ws broadcast": () => generator.measure(bare) },
        options.rounds,
      );
      const quoted = { row: 15, unit: "x", standing: "quoted" } as const;
      const floor = windows["bare ws broadcast"];
      return {
        measurements: measurementsOf(windows),
        notes: [`${clients} clients; latencies are those of each client's each event`],
        bars: [
          {
            ...quoted,
            what: `events/s to ${clients} clients vs a bare ws broadcast`,
            measured: ratio(windows.stream.map(operationsPerSecond), floor.map(operationsPerSecond)),
            limit: 0.8,
            sense: "at least",
          },
          {
            ...quoted,
            what: `CPU per event to ${clients} clients vs a bare ws broadcast`,
            measured: ratio(windows.stream.map(cpuUsPerOperation), floor.map(cpuUsPerOperation)),
            limit: 1.25,
            sense: "at most",
          },
        ],
      };
    });
  },
};
