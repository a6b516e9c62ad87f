import type { ModuleContext } from "@svc-runtime/engine/module";
import { PartSender } from "../part-sender.ts";
import type { SpanReader, TraceRow } from "./span-store.ts";
import { traceSummary } from "./stored-span.ts";
import { TraceFeed } from "./trace-feed.ts";

const DELAY_MS = 250;
/**
 * Delay while many traces change, in milliseconds. It is longer, because people cannot follow a list that changes
 * faster.
 */
const BUSY_DELAY_MS = 1_000;
/** Maximum number of summaries that wait to be sent. Further ones are dropped, like the changes beyond MAX_CHANGED. */
const MAX_WAITING = 1_000;

/**
 * Provides the stream `svc.traces`. Its events are `{type: "traces", data: {traces: [...]}}` with summaries of changed
 * traces. In a cluster, a summary covers the whole trace, but only changes at this node are reported.
 */
export function provideTraceStream(
  context: ModuleContext<unknown>,
  reader: () => SpanReader,
): Pick<TraceFeed, "changed" | "stop"> {
  const stream = context.streams.provideSystemStream({
    name: "svc.traces",
    summary:
      "Summaries of traces as they begin, change and end, up to 50 in one event; reported at most four times per second, once while many traces change",
    snapshot: (id) => (id === undefined ? "[]" : "null"),
  });
  const events = new PartSender<TraceRow>(context.clock, MAX_WAITING, (rows) =>
    stream.publish({
      id: null,
      type: "event",
      json: JSON.stringify({ type: "traces", data: { traces: rows.map(({ facts }) => traceSummary(facts)) } }),
    }),
  );
  const feed = new TraceFeed({
    ...{ reader, clock: context.clock, log: context.log, delayMs: DELAY_MS, busyDelayMs: BUSY_DELAY_MS },
    onChange: (rows) => events.add(rows),
  });
  stream.onDemand((wanted) => {
    feed.setActive(wanted);
    if (!wanted) events.stop();
  });
  return {
    changed: (span) => feed.changed(span),
    stop() {
      feed.stop();
      events.stop();
    },
  };
}
