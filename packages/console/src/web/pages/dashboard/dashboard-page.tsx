import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { rangeMs } from "../../lib/time-range.ts";
import { useFunctionFigures } from "../../lib/use-function-figures.ts";
import { useLiveCollection, useWorkers } from "../../lib/use-live.ts";
import { useModules } from "../../lib/use-modules.ts";
import { cn } from "../../ui/cn.ts";
import { LastUpdate } from "../../ui/last-update.tsx";
import { Page } from "../../ui/page.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { AttentionSection } from "./attention-section.tsx";
import { CounterRow } from "./counter-row.tsx";
import { ErrorsSection } from "./errors-section.tsx";
import { type OwnFunction, ownFigures, ownIds } from "./own-calls.ts";
import { Section } from "./section.tsx";
import { SlowestSection } from "./slowest-section.tsx";
import { useCounters } from "./use-counters.ts";
import { useMetricSamples } from "./use-metric-samples.ts";

const ConnectSteps = lazy(() => import("./connect-steps.tsx"));
const FlowSection = lazy(() => import("./flow-section.tsx"));

const route = getRouteApi("/");
const DEFAULT_RANGE = "15m";
const SAMPLE_MS = 5_000;
const DAY_MS = 86_400_000;

/** Health of the system, recent activity and open issues. */
export default function DashboardPage() {
  const { range } = route.useSearch();
  const navigate = route.useNavigate();
  const { samples, asOfMs: sampledAtMs } = useMetricSamples();
  const { loaded, workers } = useWorkers();
  const functions = useLiveCollection<OwnFunction>("svc.functions", ({ function_id }) => function_id);
  const modules = useModules();
  const own = useMemo(() => ownIds(functions.items, modules), [functions.items, modules]);
  const counters = useCounters();
  const windowMs = rangeMs(range ?? DEFAULT_RANGE) ?? DAY_MS;
  const figures = useFunctionFigures(Math.round(windowMs / 1_000));
  const workerFigures = useMemo(
    () => figures.data?.functions.filter(({ function_id }) => own.has(function_id)),
    [figures.data, own],
  );
  const asOfMs = Math.max(counters.asOfMs ?? 0, sampledAtMs ?? 0);
  const hasNoWorker = loaded && !workers.some(({ internal }) => !internal);
  const hasFlow = !hasNoWorker || own.size > 0;
  return (
    <Page
      title={t`Dashboard`}
      controls={
        <>
          <LastUpdate
            asOfMs={asOfMs === 0 ? undefined : asOfMs}
            intervalMs={sampledAtMs === undefined ? undefined : SAMPLE_MS}
          />
          <span className="flex-1" />
          <TimeRange
            value={{ range }}
            fallback={DEFAULT_RANGE}
            presets={["5m", "15m", "1h", "6h", "24h"]}
            withAbsolute={false}
            onChange={(next) => void navigate({ search: (before) => ({ ...before, range: next.range }) })}
          />
        </>
      }
    >
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-3">
        {counters.refusal !== null && (
          <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
            {t`Failed to load the counters: ${counters.refusal}`}
          </p>
        )}
        <CounterRow
          {...{ counters, own, rangeMs: windowMs, haveFiguresFailed: figures.error !== null }}
          samples={sampledAtMs === undefined ? undefined : samples}
          systemFunctions={functions.items.length - own.size}
          figures={workerFigures === undefined ? undefined : ownFigures(workerFigures)}
        />
        {hasNoWorker && (
          <Suspense>
            <ConnectSteps />
          </Suspense>
        )}
        <div className={cn("grid grid-cols-1 gap-3", hasFlow && "xl:grid-cols-[minmax(0,1fr)_22rem]")}>
          {hasFlow && (
            <Suspense fallback={<Section title={t`Application flow`}>{null}</Section>}>
              <FlowSection rangeMs={windowMs} own={own} isLoaded={functions.loaded && loaded} />
            </Suspense>
          )}
          <AttentionSection figures={figures} ownFigures={workerFigures ?? []} rangeMs={windowMs} />
        </div>
        <div className="grid grid-cols-1 gap-3 lg:grid-cols-2">
          <ErrorsSection rangeMs={windowMs} />
          <SlowestSection rangeMs={windowMs} />
        </div>
      </div>
    </Page>
  );
}
