import { type CallLoad, cpuUsPerOperation, type EventFanOutLoad, operationsPerSecond } from "../generator/load.ts";
import { interleave, type Variant } from "../rounds.ts";
import { ratio } from "../statistics.ts";
import { engineFor, measurementsOf, type Scenario, withServers } from "./scenario.ts";

const SUBSCRIBERS = [1, 10, 100] as const;
const PAYLOAD_BYTES = 200;

/**
 * Measures how many events per second reach 1, 10 and 100 workers from one publisher. Compares this with the calls per
 * second of one caller to as many workers, with as many calls in flight as there are workers.
 */
export const eventFanOut: Scenario = {
  title: `Events of one publisher to ${SUBSCRIBERS.join(", ")} subscribers (operations are events)`,
  rows: [17],
  run(context) {
    const { options, generator } = context;
    return withServers(
      { engine: () => engineFor(context, "event-fan-out", [{ name: "svc-event" }]) },
      async ({ engine }) => {
        const common = {
          port: engine.port,
          payloadBytes: PAYLOAD_BYTES,
          warmUpMs: options.warmUpMs,
          measureMs: options.measureMs,
          observe: [engine.pid],
        };
        const variants: Record<string, Variant> = {};
        for (const workers of SUBSCRIBERS) {
          const events: EventFanOutLoad = { ...common, kind: "event-fan-out", subscribers: workers };
          const calls: CallLoad = {
            ...common,
            kind: "calls",
            target: "echo",
            callers: 1,
            callees: workers,
            concurrency: workers,
          };
          variants[`events to ${workers}`] = () => generator.measure(events);
          variants[`calls, ${workers}`] = () => generator.measure(calls);
        }
        const windows = await interleave(variants, options.rounds);
        const of = (name: string) => windows[name] ?? [];
        return {
          measurements: measurementsOf(windows),
          notes: ["latencies of events are those until the last subscriber was called, with 8 events under way"],
          bars: SUBSCRIBERS.flatMap((workers) => [
            {
              row: 17,
              unit: "x",
              standing: "quoted" as const,
              what: `deliveries/s to ${workers}, vs calls/s`,
              measured: ratio(
                of(`events to ${workers}`).map((window) => operationsPerSecond(window) * workers),
                of(`calls, ${workers}`).map(operationsPerSecond),
              ),
              limit: limitsFor(workers).deliveries,
              sense: "at least" as const,
            },
            {
              row: 17,
              unit: "x",
              standing: "quoted" as const,
              what: `CPU per delivery to ${workers}, vs per call`,
              measured: ratio(
                of(`events to ${workers}`).map((window) => cpuUsPerOperation(window) / workers),
                of(`calls, ${workers}`).map(cpuUsPerOperation),
              ),
              limit: limitsFor(workers).cpu,
              sense: "at most" as const,
            },
          ]),
        };
      },
    );
  },
};

/**
 * With one subscriber, an event costs two calls: one by the publisher and one to the subscriber. With many subscribers,
 * the publisher's call hardly matters, so the limits differ.
 */
function limitsFor(workers: number): { readonly deliveries: number; readonly cpu: number } {
  return workers === 1 ? { deliveries: 0.5, cpu: 2 } : { deliveries: 0.8, cpu: 1.25 };
}
