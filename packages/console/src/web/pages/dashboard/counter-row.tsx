import { t } from "../../labels/translate.ts";
import { useCallLine, useDurationLine } from "../../lib/call-lines.ts";
import { percent } from "../../lib/percent.ts";
import { duration } from "../../lib/time.ts";
import { useLiveCollection, useLiveState, useWorkers } from "../../lib/use-live.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import { isUnreachable } from "../../ui/unreachable.tsx";
import { CounterCard } from "./counter-card.tsx";
import type { OwnFigures } from "./own-calls.ts";
import type { CounterName, CountersNow } from "./use-counters.ts";
import type { MetricSample } from "./use-metric-samples.ts";

const CARDS: readonly { readonly name: string; readonly counter: CounterName; readonly href: string }[] = [
  { name: t`Functions`, counter: "functions", href: "/functions" },
  { name: t`Triggers`, counter: "triggers", href: "/triggers" },
  { name: t`Workers`, counter: "workers", href: "/workers" },
  { name: t`Streams`, counter: "streams", href: "/streams" },
];

export interface CounterRowProps {
  readonly counters: CountersNow;
  /** Undefined while they are loading. */
  readonly samples: readonly MetricSample[] | undefined;
  readonly rangeMs: number;
  /** Figures of workers' functions in the range. Undefined if they are loading or failed to load. */
  readonly figures: OwnFigures | undefined;
  readonly haveFiguresFailed: boolean;
  /** Number of functions that the engine and its modules provide. */
  readonly systemFunctions: number;
  /** IDs of workers' functions. */
  readonly own: ReadonlySet<string>;
}

/** Counters of the system, and rate, errors and p95 of its calls. */
export function CounterRow({
  counters: { counters },
  samples,
  rangeMs,
  figures,
  haveFiguresFailed,
  systemFunctions,
  own,
}: CounterRowProps) {
  const { workers } = useWorkers();
  const state = useLiveState();
  const isAway = isUnreachable(state);
  const now = useNow();
  const line = useCallLine(own);
  const slowest = figures?.slowest;
  const p95Line = useDurationLine(slowest?.function_id, "p95");
  // If the engine started within the range, the rate is computed over the time since its start.
  const minutes = Math.max(Math.min(rangeMs, now - (state.engine?.started_at_ms ?? 0)), 5_000) / 60_000;
  const system = workers.filter(({ internal }) => internal).length;
  const triggers = useLiveCollection<{ readonly id: string; readonly internal: boolean }>(
    "svc.triggers",
    ({ id }) => id,
  );
  const streams = usePolledCall<{ readonly streams: readonly { readonly type: string }[] }>(
    "engine::streams::list",
    ["system"],
    () => ({
      include_system: true,
    }),
  );
  const unknown = isAway ? null : haveFiguresFailed ? "unknown" : undefined;
  const notes: Readonly<Record<CounterName, string | undefined>> = {
    functions: t`+ ${systemFunctions} system`,
    triggers: triggers.loaded ? t`+ ${triggers.items.filter(({ internal }) => internal).length} system` : undefined,
    workers: t`+ ${system} system`,
    streams:
      streams.data === undefined
        ? undefined
        : t`+ ${streams.data.streams.filter(({ type }) => type === "system").length} system`,
  };
  return (
    <section aria-label={t`Counters`} className="grid grid-cols-2 gap-3 sm:grid-cols-4 xl:grid-cols-7">
      {CARDS.map(({ name, counter, href }) => (
        <CounterCard
          key={name}
          {...{ name, href }}
          value={counters?.[counter]?.toLocaleString("en-GB") ?? (isAway ? null : undefined)}
          samples={samples?.map((sample) => sample[counter])}
          note={counters?.[counter] === undefined ? undefined : notes[counter]}
        />
      ))}
      <CounterCard
        name={t`Invocations/min`}
        href="/traces"
        value={figures === undefined ? unknown : rate(figures.calls / minutes)}
        samples={line?.calls}
        note={figures === undefined ? undefined : t`${figures.calls} calls in ${timeText(minutes)}`}
      />
      <CounterCard
        name={t`Errors`}
        href="/traces?failed=true"
        value={figures === undefined ? unknown : percent(figures.errorRate)}
        samples={line?.errors}
        note={figures === undefined ? undefined : t`${figures.errors} failed`}
        isBad={figures !== undefined && figures.errorRate > 0.05}
      />
      <CounterCard
        name="p95"
        href={slowest === undefined ? "/functions" : `/functions/${encodeURIComponent(slowest.function_id)}`}
        value={figures === undefined ? unknown : slowest?.p95_ms == null ? "–" : duration(slowest.p95_ms)}
        samples={p95Line}
        note={slowest === undefined ? undefined : t`slowest: ${slowest.function_id}`}
      />
    </section>
  );
}

function timeText(minutes: number): string {
  if (minutes < 2) return `${Math.round(minutes * 60)} s`;
  return minutes < 120 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`;
}

function rate(perMinute: number): string {
  return perMinute === 0 ? "0" : perMinute < 10 ? perMinute.toFixed(1) : Math.round(perMinute).toLocaleString("en-GB");
}
