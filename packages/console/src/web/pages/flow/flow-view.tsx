import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { rangeMs } from "../../lib/time-range.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { FlowDetail } from "./flow-detail.tsx";
import { FlowList } from "./flow-list.tsx";
import { usePlaces } from "./layout/use-places.ts";
import { downstream, type Graph, neighbourhood, only } from "./model/flow-graph.ts";
import { SaveStatus } from "./save-status.tsx";
import { SidePane } from "./side-pane.tsx";
import { type FlowData, useFlowData } from "./use-flow-data.ts";

const FlowCanvas = lazy(() => import("./flow-canvas.tsx"));
const route = getRouteApi("/flow/{-$flowId}");
const DEFAULT_RANGE = "1h";
/** What `all` stands for: figures are kept for a day. */
const LONGEST_MS = 86_400_000;

const SNIPPET = `worker.registerFunction("orders::create", async (order) => ({ ok: true }));
worker.registerTrigger({ type: "http", function_id: "orders::create", config: { api_path: "/orders", http_method: "POST" } });`;

/** The part of the whole that is asked for. An id that is not there shows nothing, and the page says so. */
function partOf(graph: Graph, flowId: string | undefined, focus: string | undefined, hops: number | undefined): Graph {
  const flow = flowId === undefined ? graph : graph.nodes.some(({ id }) => id === flowId) ? only(graph, downstream(graph, flowId)) : { nodes: [], edges: [] };
  if (focus === undefined || hops === undefined || !flow.nodes.some(({ id }) => id === focus)) return flow;
  return only(flow, neighbourhood(flow, focus, hops));
}

export default function FlowView() {
  const { flowId } = route.useParams();
  const { q = "", focus, hops, range = DEFAULT_RANGE, system = false, dir = "lr", view } = route.useSearch();
  const navigate = route.useNavigate();
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const { loaded, isComplete, error, graph: whole, notObserved, observed, retry } = useFlowData(rangeMs(range) ?? LONGEST_MS, system);
  const graph = useMemo(() => partOf(whole, flowId, focus, hops), [whole, flowId, focus, hops]);
  const { places, layout, move } = usePlaces(
    graph,
    `${flowId ?? "system"}${dir === "tb" ? "@tb" : ""}`,
    dir === "tb" ? "TB" : "LR",
    refusal,
    loaded && isComplete,
  );
  const found = useMemo(() => {
    const words = q.toLowerCase();
    return words === "" ? undefined : new Set(graph.nodes.filter(({ label, kind }) => `${label} ${kind}`.toLowerCase().includes(words)).map(({ id }) => id));
  }, [graph, q]);
  const search = (change: Partial<ReturnType<typeof route.useSearch>>, replace = true): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace });
  const select = (id: string | undefined): void => search({ focus: id, ...(id === undefined ? { hops: undefined } : {}) }, false);
  const openFlow = (id: string | undefined): void =>
    void navigate({ to: "/flow/{-$flowId}", params: { flowId: id }, search: (before) => ({ ...before, hops: undefined }) });
  const selected = graph.nodes.find(({ id }) => id === focus);
  const list = (
    <DataRegion
      loading={!loaded}
      error={error}
      empty={graph.nodes.length === 0}
      filtered={flowId === undefined ? undefined : { what: `There is nothing called “${flowId}” in the system now.`, clear: () => openFlow(undefined) }}
      emptyState={
        <EmptyState title="There is nothing to draw" snippet={SNIPPET}>
          Functions and triggers of connected workers stand here, joined by who calls whom.
        </EmptyState>
      }
    >
      {view === "list" ? (
        <FlowList {...{ graph, found, selected: focus }} onSelect={select} />
      ) : places === undefined ? (
        <p role="status" className="p-4 text-ink-3">
          Laying out the graph
        </p>
      ) : (
        <Suspense fallback={<p className="p-4 text-ink-3">Loading the graph</p>}>
          <FlowCanvas {...{ graph, places, found }} isVertical={dir === "tb"} selected={focus} onSelect={select} onMove={move} />
        </Suspense>
      )}
    </DataRegion>
  );
  return (
    <Page
      title="Flow"
      subject={flowId}
      count={loaded ? graph.nodes.length : undefined}
      controls={
        <>
          {flowId !== undefined && <Button onClick={() => openFlow(undefined)}>Whole system</Button>}
          {hops !== undefined && <Button onClick={() => search({ hops: undefined })}>All, not only {hops} steps</Button>}
          <FilterTabs
            label="View"
            value={view ?? "graph"}
            onChange={(next) => search({ view: next === "list" ? "list" : undefined })}
            tabs={[
              { value: "graph", label: "Graph" },
              { value: "list", label: "List" },
            ]}
          />
          <span className="flex-1" />
          <label className="flex items-center gap-1.5 text-ink-2" title="Functions and triggers of the engine itself">
            <input type="checkbox" checked={system} onChange={(event) => search({ system: event.target.checked || undefined })} />
            System
          </label>
          <select
            aria-label="Direction"
            className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5"
            value={dir}
            onChange={(event) => search({ dir: event.target.value === "tb" ? "tb" : undefined })}
          >
            <option value="lr">left to right</option>
            <option value="tb">top to bottom</option>
          </select>
          <Button disabledReason={refusal} onClick={() => void layout.reset()}>
            Reset layout
          </Button>
          <ExportMenu graph={graph} places={places ?? new Map()} />
          <TimeRange
            value={{ range }}
            fallback={DEFAULT_RANGE}
            presets={["5m", "15m", "1h", "6h", "24h"]}
            withAbsolute={false}
            onChange={(next) => search({ range: next.range })}
          />
          <SearchBox label="Search the flow" value={q} onChange={(next) => search({ q: next || undefined })} />
        </>
      }
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-1 text-[12px]">
        <Legend />
        <ObservedNote {...{ notObserved, observed, retry }} />
        {found !== undefined && <span role="status">{found.size} found</span>}
        <span className="flex-1" />
        <SaveStatus layout={layout} />
      </div>
      <div className="relative flex min-h-0 min-w-0 flex-1">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">{list}</div>
        {focus !== undefined && (
          <SidePane title={selected?.label ?? focus} onClose={() => select(undefined)}>
            {selected !== undefined ? (
              <FlowDetail {...{ graph, node: selected, hops }} onSelect={select} onHops={(next) => search({ hops: next })} onFlow={openFlow} />
            ) : (
              loaded && <NotThere id={focus} />
            )}
          </SidePane>
        )}
      </div>
    </Page>
  );
}

function NotThere({ id }: { readonly id: string }) {
  return (
    <EmptyState title="This is not in the graph">
      Nothing called <code className="break-all">{id}</code> is connected now, or it is hidden by what is shown.
    </EmptyState>
  );
}

function ObservedNote({ notObserved, observed, retry }: Pick<FlowData, "notObserved" | "observed" | "retry">) {
  if (notObserved === undefined) {
    return <span className="text-ink-3">{observed !== undefined && `calls of ${observed.read} of ${observed.total} traces`}</span>;
  }
  return (
    <span className="text-warn">
      Calls are not shown: {notObserved}.{" "}
      <button type="button" className="underline" onClick={retry}>
        Try again
      </button>
    </span>
  );
}

function Legend() {
  return (
    <span className="flex items-center gap-3 text-ink-2">
      <span className="flex items-center gap-1.5">
        <span aria-hidden className="w-6 border-line-strong border-t-2" /> declared
      </span>
      <span className="flex items-center gap-1.5">
        <span aria-hidden className="w-6 border-line-strong border-t-2 border-dashed" /> seen in traces
      </span>
    </span>
  );
}
