import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { useCronTexts } from "../../lib/cron-text.ts";
import { useFunctionFigures } from "../../lib/use-function-figures.ts";
import { useLiveCollection } from "../../lib/use-live.ts";
import type { TriggerFacts } from "../../model/flow-graph.ts";
import { cronExpressionOf } from "../../model/triggers.ts";
import { DataRegion } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { useIsNarrow } from "../../ui/list-detail.tsx";
import { FlowDiagram } from "./flow-diagram.tsx";
import { flowNote } from "./flow-note.ts";
import { overviewOf } from "./flow-overview.ts";
import { FlowTable } from "./flow-table.tsx";
import { Section } from "./section.tsx";
import { useSeenCalls } from "./use-seen-calls.ts";

const route = getRouteApi("/");

/** The application's call graph. Its edges are declared by triggers or were seen in traces. */
export default function FlowSection({
  rangeMs,
  own,
  isLoaded,
}: {
  readonly rangeMs: number;
  readonly own: ReadonlySet<string>;
  readonly isLoaded: boolean;
}) {
  const { view } = route.useSearch();
  const navigate = route.useNavigate();
  // A narrow screen has no room for the three columns of the diagram.
  const isNarrow = useIsNarrow(760);
  const triggers = useLiveCollection<TriggerFacts>("svc.triggers", ({ id }) => id);
  const figures = useFunctionFigures(Math.round(rangeMs / 1_000));
  const seen = useSeenCalls(rangeMs);
  const cronTexts = useCronTexts(triggers.items.flatMap((trigger) => cronExpressionOf(trigger) ?? []));
  const flow = useMemo(
    () =>
      overviewOf({
        own,
        triggers: triggers.items,
        figures: figures.data?.functions ?? [],
        seen: seen.data?.calls ?? [],
        cronTexts,
      }),
    [own, triggers.items, figures.data, seen.data, cronTexts],
  );
  const isTable = view === "table" || isNarrow;
  return (
    <Section
      title={t`Application flow`}
      controls={
        !isNarrow && (
          <FilterTabs
            label={t`Flow as`}
            value={view ?? "diagram"}
            onChange={(next) =>
              void navigate({
                search: (before) => ({ ...before, view: next === "table" ? next : undefined }),
                replace: true,
              })
            }
            tabs={[
              { value: "diagram", label: t`Diagram` },
              { value: "table", label: t`Table` },
            ]}
          />
        )
      }
    >
      <DataRegion
        loading={!isLoaded || !triggers.loaded}
        empty={flow.nodes.length === 0}
        emptyState={<p className="py-6 text-center text-ink-2">{t`No worker has registered a function yet.`}</p>}
      >
        {isTable ? <FlowTable flow={flow} isPart={seen.data?.isPart === true} /> : <FlowDiagram flow={flow} />}
        <p className="mt-2 text-[11px] text-ink-3">{flowNote({ isTable, seen: seen.data, error: seen.error })}</p>
      </DataRegion>
    </Section>
  );
}
