import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { plural, t } from "../../../labels/translate.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { FilterTabs } from "../../../ui/filter-tabs.tsx";
import { graphLabels } from "../../../ui/graph-labels.ts";
import { Duration } from "../../../ui/time.tsx";
import { type GraphEdge, graphOf } from "../model/trace-graph.ts";

const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");

const MapGraph = lazy(() => import("./map-graph.tsx"));

const LABELS = graphLabels(t`Press Enter to show the spans of the service.`);

const columns: readonly Column<GraphEdge>[] = [
  {
    key: "from",
    header: t`From`,
    width: "minmax(8rem,1fr)",
    cell: ({ from }) => <span className="font-medium">{from}</span>,
  },
  { key: "to", header: t`To`, width: "minmax(8rem,1fr)", cell: ({ to }) => <span className="font-medium">{to}</span> },
  { key: "calls", header: t`Calls`, width: "5rem", align: "right", cell: ({ calls }) => calls },
  {
    key: "avg",
    header: t`Average`,
    width: "6rem",
    align: "right",
    cell: ({ avgMs }) => <Duration ms={avgMs} className="font-mono text-[12px]" />,
  },
  {
    key: "errors",
    header: t`Errors`,
    width: "5rem",
    align: "right",
    cell: ({ errors }) => <span className={errors > 0 ? "font-medium text-danger" : "text-ink-3"}>{errors}</span>,
  },
];

/** Services and the calls between them, as a graph or a list. */
export function TraceMap({
  forest,
  nowMs,
  onOpen,
}: {
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly onOpen: (service: string) => void;
}) {
  const as = route.useSearch().list === true ? "list" : "graph";
  const navigate = route.useNavigate();
  const [activeEdge, setActiveEdge] = useState<string>();
  const graph = useMemo(() => graphOf(forest, nowMs), [forest, nowMs]);
  const idOf = ({ from, to }: GraphEdge): string => `${from}\n${to}`;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-3 border-line border-b px-3 py-1.5">
        <FilterTabs
          label={t`Shown as`}
          tabs={[
            { value: "graph", label: t`Graph` },
            { value: "list", label: t`List` },
          ]}
          value={as}
          onChange={(next) =>
            void navigate({ search: (before) => ({ ...before, list: next === "list" || undefined }), replace: true })
          }
        />
        <span className="text-[12px] text-ink-3">
          {t`${plural(graph.nodes.length, "# service", "# services")}, ${plural(graph.edges.length, "# connection", "# connections")} between them`}
        </span>
      </div>
      {as === "graph" ? (
        <Suspense fallback={<p className="p-4 text-ink-3">{t`Loading the graph`}</p>}>
          <MapGraph graph={graph} labels={LABELS} onOpen={onOpen} />
        </Suspense>
      ) : graph.edges.length === 0 ? (
        <p className="p-4 text-ink-2">
          {t`All spans belong to one service: ${graph.nodes.map(({ id }) => id).join(", ")}.`}
        </p>
      ) : (
        <DataTable
          label={t`Calls between services`}
          columns={columns}
          rows={graph.edges}
          idOf={idOf}
          selectedId={activeEdge}
          onSelect={(edge) => setActiveEdge(idOf(edge))}
          onOpen={({ to }) => onOpen(to)}
        />
      )}
    </div>
  );
}
