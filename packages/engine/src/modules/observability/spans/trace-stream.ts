import type { ModuleContext } from "../../../kernel/module.ts";
import type { SpanStore, TraceRow } from "./span-store.ts";
import { traceSummary } from "./stored-span.ts";
import { TraceFeed } from "./trace-feed.ts";

/** At most four times a second. */
const DELAY_MS = 250;

/** The system stream `svc.traces`: summaries of traces as they change, `{type: "traces", data: {traces: [...]}}`. Whoever joins lists first. */
export function provideTraceStream(context: ModuleContext<unknown>, store: SpanStore): TraceFeed {
  const stream = context.streams.provideSystemStream({
    name: "svc.traces",
    summary: "Summaries of traces as they begin, change and end; an event each quarter of a second at most",
    snapshot: (id) => (id === undefined ? "[]" : "null"),
  });
  const feed = new TraceFeed({
    ...{ store, clock: context.clock, log: context.log, delayMs: DELAY_MS },
    tell(rows: readonly TraceRow[]) {
      stream.publish({ id: null, type: "event", json: JSON.stringify({ type: "traces", data: { traces: rows.map(({ facts }) => traceSummary(facts)) } }) });
    },
  });
  stream.onDemand((wanted) => feed.ask(wanted));
  return feed;
}
