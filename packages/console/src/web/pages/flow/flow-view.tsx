import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { rangeMs } from "../../lib/time-range.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { Graph, GraphNode } from "../../model/flow-graph.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { Page } from "../../ui/page.tsx";
import { FlowControls } from "./flow-controls.tsx";
import { FlowDetail } from "./flow-detail.tsx";
import { FlowList } from "./flow-list.tsx";
import { FlowNotes, NotThere } from "./flow-notes.tsx";
import { stepFrom } from "./layout/step.ts";
import { usePlaces } from "./layout/use-places.ts";
import { collapsed, groupNode, groupsOf } from "./model/groups.ts";
import { type Layer, withLayers } from "./model/layers.ts";
import { downstream, neighbourhood, only } from "./model/reach.ts";
import { SidePane } from "./side-pane.tsx";
import { useFlowData } from "./use-flow-data.ts";

const FlowCanvas = lazy(() => import("./flow-canvas.tsx"));
const AlignBar = lazy(() => import("./align-bar.tsx"));
const route = getRouteApi("/flow/{-$flowId}");
const DEFAULT_RANGE = "1h";
/** What `all` stands for: figures are kept for a day. */
const LONGEST_MS = 86_400_000;

const SNIPPET = `worker.registerFunction("orders::create", async (order) => ({ ok: true }));
worker.registerTrigger({ type: "http", function_id: "orders::create", config: { api_path: "/orders", http_method: "POST" } });`;

interface Wanted {
  readonly flowId: string | undefined;
  readonly focus: string | undefined;
  readonly hops: number | undefined;
  readonly layers: readonly Layer[] | undefined;
  readonly closed: readonly string[] | undefined;
}

/** The part of the whole that is asked for. An id that is not there shows nothing, and the page says so. */
function partOf(graph: Graph, { flowId, focus, hops, layers, closed }: Wanted): Graph {
  const flow = flowId === undefined ? graph : graph.nodes.some(({ id }) => id === flowId) ? only(graph, downstream(graph, flowId)) : { nodes: [], edges: [] };
  const shown = collapsed(withLayers(flow, layers), closed);
  if (focus === undefined || hops === undefined || !shown.nodes.some(({ id }) => id === focus)) return shown;
  return only(shown, neighbourhood(shown, focus, hops));
}

export default function FlowView() {
  const { flowId } = route.useParams();
  const search = route.useSearch();
  const { q = "", focus, hops, range = DEFAULT_RANGE, system = false, dir = "lr", view, layers, closed } = search;
  const navigate = route.useNavigate();
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const data = useFlowData(rangeMs(range) ?? LONGEST_MS, system);
  const { loaded, isComplete, error, graph: whole } = data;
  const graph = useMemo(() => partOf(whole, { flowId, focus, hops, layers, closed }), [whole, flowId, focus, hops, layers, closed]);
  const groups = useMemo(() => groupsOf(whole), [whole]);
  const { places, layout, move } = usePlaces(
    graph,
    `${flowId ?? "system"}${dir === "tb" ? "@tb" : ""}`,
    dir === "tb" ? "TB" : "LR",
    refusal,
    loaded && isComplete,
  );
  const found = useMemo(() => {
    const words = q.toLowerCase();
    return words === "" ? undefined : new Set(graph.nodes.filter((node) => wordsOf(node).includes(words)).map(({ id }) => id));
  }, [graph, q]);
  const change = (next: Partial<typeof search>, replace = true): void => void navigate({ search: (before) => ({ ...before, ...next }), replace });
  const select = (id: string | undefined): void => change({ focus: id, ...(id === undefined ? { hops: undefined } : {}) }, false);
  const openFlow = (id: string | undefined): void =>
    void navigate({ to: "/flow/{-$flowId}", params: { flowId: id }, search: (before) => ({ ...before, hops: undefined }) });
  const filtered =
    flowId !== undefined && graph.nodes.length === 0
      ? { what: `There is nothing called “${flowId}” in the system now.`, clear: () => openFlow(undefined) }
      : whole.nodes.length > 0
        ? { what: q === "" ? "The layers that are shown hold nothing." : `Nothing is called “${q}”.`, clear: () => change({ q: undefined, layers: undefined }) }
        : undefined;
  const selected = graph.nodes.find(({ id }) => id === focus);
  const list = (
    <DataRegion
      loading={!loaded}
      error={error}
      empty={graph.nodes.length === 0 || (view === "list" && found?.size === 0)}
      filtered={filtered}
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
          <FlowCanvas
            {...{ graph, places, found }}
            isVertical={dir === "tb"}
            selected={focus}
            stepFrom={(id, key) => stepFrom(graph, places, id, key, dir === "tb")}
            ofSeveral={(chosen, place) => (
              <Suspense>
                <AlignBar chosen={chosen} places={places} onMove={place} />
              </Suspense>
            )}
            onSelect={select}
            onMove={move}
          />
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
        <FlowControls
          {...{ search, graph, places }}
          defaultRange={DEFAULT_RANGE}
          isPart={flowId !== undefined}
          groups={groups}
          resetRefusal={refusal}
          onSearch={change}
          onWhole={() => openFlow(undefined)}
          onReset={() => void layout.reset()}
        />
      }
    >
      <FlowNotes data={data} found={found?.size} layout={view === "list" ? undefined : layout} />
      <div className="relative flex min-h-0 min-w-0 flex-1">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">{list}</div>
        {focus !== undefined && (
          <SidePane title={selected?.label ?? focus} onClose={() => select(undefined)}>
            {selected !== undefined ? (
              <FlowDetail
                {...{ graph, node: selected, hops }}
                onSelect={select}
                onHops={(next) => change({ hops: next })}
                onFlow={openFlow}
                groups={groups}
                onCollapse={(name) => change({ closed: [...(search.closed ?? []), name], focus: groupNode(name), hops: undefined })}
                onOpenGroup={(name) => change({ closed: withoutName(search.closed, name), focus: undefined, hops: undefined })}
              />
            ) : (
              loaded && <NotThere id={focus} />
            )}
          </SidePane>
        )}
      </div>
    </Page>
  );
}

/** What a search looks through: a group is found by its functions too. */
function wordsOf({ label, kind, members = [] }: GraphNode): string {
  return [label, kind, ...members.map((member) => member.label)].join(" ").toLowerCase();
}

function withoutName(names: readonly string[] | undefined, name: string): string[] | undefined {
  const rest = names?.filter((each) => each !== name) ?? [];
  return rest.length === 0 ? undefined : rest;
}
