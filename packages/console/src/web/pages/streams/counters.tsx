import { type ReactNode, useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { bytes, duration } from "../../lib/time.ts";
import { useNow } from "../../ui/time.tsx";
import { MAX_ROWS, type MessageLog } from "./message-log.ts";
import { useFrames, useRoundTrip } from "./use-monitor.ts";

const count = new Intl.NumberFormat("en-GB");

/** Exact counts of the messages since the page was opened. */
export function CounterStrip({ log }: { readonly log: MessageLog }) {
  const frame = useFrames(log);
  const now = useNow();
  const roundTrip = useRoundTrip();
  // biome-ignore lint/correctness/useExhaustiveDependencies: each frame may bring new counts
  const counters = useMemo(() => log.counters(Date.now()), [log, frame, now]);
  const at = counters.isAtLeast ? "≥ " : "";
  return (
    <dl
      tabIndex={0}
      aria-label={t`Counters`}
      className="flex gap-x-6 gap-y-1 overflow-x-auto border-line border-b bg-surface px-4 py-2 max-sm:grid max-sm:grid-cols-[repeat(4,auto)] max-sm:justify-between max-sm:gap-x-3"
    >
      <Counter
        name={t`Total`}
        value={at + count.format(counters.total)}
        title={
          counters.isAtLeast
            ? t`At least this many: the monitor missed some messages, see the markers in the list`
            : undefined
        }
      />
      <Counter name={t`Inbound`} value={at + count.format(counters.inbound)} title={t`From clients to the engine`} />
      <Counter name={t`Outbound`} value={at + count.format(counters.outbound)} title={t`From the engine to clients`} />
      <Counter name={t`Bytes`} value={bytes(counters.bytes)} title={t`${count.format(counters.bytes)} bytes`} />
      <Counter
        name={t`Rate`}
        value={`${count.format(Math.round(counters.perSecond * 10) / 10)}/s`}
        title={t`Over the last 5 seconds`}
      />
      <Counter
        name={t`Buffer size`}
        value={`${count.format(counters.buffered)} / ${count.format(MAX_ROWS)}`}
        title={t`Messages stored in this page; older ones are evicted`}
      />
      <Counter
        name={t`Dropped`}
        value={count.format(counters.dropped)}
        title={t`Counted but not shown: over the engine's limit (2,500 messages at once, then 5,000 a second) or lost in transit`}
        isLoud={counters.dropped > 0}
      />
      <Counter
        name={t`Round trip`}
        value={roundTrip === undefined ? "–" : duration(roundTrip)}
        title={t`From this page to the console's server and back`}
      />
    </dl>
  );
}

function Counter({
  name,
  value,
  title,
  isLoud = false,
}: {
  readonly name: string;
  readonly value: ReactNode;
  readonly title?: string | undefined;
  readonly isLoud?: boolean;
}) {
  return (
    <div title={title} className="min-w-0 shrink-0">
      <dt className="text-[11px] text-ink-3">{name}</dt>
      <dd
        className={
          isLoud ? "whitespace-nowrap font-mono text-warn tabular-nums" : "whitespace-nowrap font-mono tabular-nums"
        }
      >
        {value}
      </dd>
    </div>
  );
}
