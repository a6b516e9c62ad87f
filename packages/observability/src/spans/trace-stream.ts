import type { ModuleContext } from "@svc-runtime/engine/module";
import type { SpanStore, TraceRow } from "./span-store.ts";
import { traceSummary } from "./stored-span.ts";
import { TraceFeed } from "./trace-feed.ts";

const DELAY_MS = 250;

/** Provides the stream `svc.traces`: `{type: "traces", data: {traces: [...]}}` with summaries of changed traces. */
export function provideTraceStream(context: ModuleContext<unknown>, store: SpanStore): TraceFeed {
  const stream = context.streams.provideSystemStream({
    name: "svc.traces",
    summary: "Summaries of traces as they begin, change and end; at most four events per second",
    snapshot: (id) => (id === undefined ? "[]" : "null"),
  });
  const feed = new TraceFeed({
    ...{ store, clock: context.clock, log: context.log, delayMs: DELAY_MS },
    onChange(rows: readonly TraceRow[]) {
      stream.publish({
        id: null,
        type: "event",
        json: JSON.stringify({ type: "traces", data: { traces: rows.map(({ facts }) => traceSummary(facts)) } }),
      });
    },
  });
  stream.onDemand((wanted) => feed.setActive(wanted));
  return feed;
}
