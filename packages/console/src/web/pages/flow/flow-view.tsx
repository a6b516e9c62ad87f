import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { rangeMs } from "../../lib/time-range.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { Graph, GraphEdge, GraphNode } from "../../model/flow-graph.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { graphLabels } from "../../ui/graph-labels.ts";
import { Page } from "../../ui/page.tsx";
import { FlowControls } from "./flow-controls.tsx";
import { FlowDetail } from "./flow-detail.tsx";
import { FlowList } from "./flow-list.tsx";
import { FlowNotes, NodeNotFound } from "./flow-notes.tsx";
import { stepFrom } from "./layout/arrow-step.ts";
import { readingOrder } from "./layout/reading-order.ts";
import { useNodePositions } from "./layout/use-node-positions.ts";
import { closedByDefault, collapsed, groupNode, groupsOf } from "./model/groups.ts";
import { type Layer, withLayers } from "./model/layers.ts";
import { lookOf } from "./model/node-look.ts";
import { downstream, neighbourhood, only } from "./model/reach.ts";
import { SidePane } from "./side-pane.tsx";
import { useFlowData } from "./use-flow-data.ts";

const FlowCanvas = lazy(() => import("./flow-canvas.tsx"));
const AlignBar = lazy(() => import("./align-bar.tsx"));
const route = getRouteApi("/flow/{-$flowId}");
const LABELS = graphLabels(t`Press Enter to open and select the node. Arrow keys then move it.`);
const DEFAULT_RANGE = "1h";
/** Time range that `all` means. It is one day, because the engine stores figures for a day. */
const LONGEST_MS = 86_400_000;

const SNIPPET = `worker.registerFunction("orders::create", async (order) => ({ ok: true }));
worker.registerTrigger({ type: "http", function_id: "orders::create", config: { api_path: "/orders", http_method: "POST" } });`;

interface GraphFilter {
  readonly flowId: string | undefined;
  readonly focus: string | undefined;
  readonly hops: number | undefined;
  readonly layers: readonly Layer[] | undefined;
  readonly closed: readonly string[] | undefined;
}

/** Returns the part of the graph that the address selects. It is empty if `flowId` does not exist. */
function filteredGraph(graph: Graph, { flowId, focus, hops, layers, closed }: GraphFilter): Graph {
  const flow =
    flowId === undefined
      ? graph
      : graph.nodes.some(({ id }) => id === flowId)
        ? only(graph, downstream(graph, flowId))
        : { nodes: [], edges: [] };
  const shown = collapsed(withLayers(flow, layers), closed);
  if (focus === undefined || hops === undefined || !shown.nodes.some(({ id }) => id === focus)) return shown;
  return only(shown, neighbourhood(shown, focus, hops));
}

export default function FlowView() {
  const { flowId } = route.useParams();
  const search = route.useSearch();
  const { q = "", focus, hops, range = DEFAULT_RANGE, system = false, dir = "lr", view, layers } = search;
  const navigate = route.useNavigate();
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const data = useFlowData(rangeMs(range) ?? LONGEST_MS, system);
  const { loaded, isComplete, error, graph: whole } = data;
  const groups = useMemo(() => groupsOf(whole), [whole]);
  const closed = useMemo(
    // In the list view, no groups are collapsed by default, because a list of any length is legible.
    () => search.closed ?? (view === "list" ? [] : closedByDefault(whole, groups, focus)),
    [search.closed, view, whole, groups, focus],
  );
  const graph = useMemo(
    () => filteredGraph(whole, { flowId, focus, hops, layers, closed }),
    [whole, flowId, focus, hops, layers, closed],
  );
  const { positions, layout, move } = useNodePositions(
    graph,
    `${flowId ?? "system"}${dir === "tb" ? "@tb" : ""}`,
    dir === "tb" ? "TB" : "LR",
    refusal,
    loaded && isComplete,
  );
  const ordered = useMemo(
    () => (positions === undefined ? graph : readingOrder(graph, positions, dir === "tb")),
    [graph, positions, dir],
  );
  const labelOf = useMemo(() => {
    const names = new Map(graph.nodes.map(({ id, label }) => [id, label]));
    return (edge: GraphEdge) => {
      const from = names.get(edge.from) ?? edge.from;
      const to = names.get(edge.to) ?? edge.to;
      return t`From ${from} to ${to}`;
    };
  }, [graph]);
  const found = useMemo(() => {
    const words = q.toLowerCase();
    return words === ""
      ? undefined
      : new Set(graph.nodes.filter((node) => wordsOf(node).includes(words)).map(({ id }) => id));
  }, [graph, q]);
  const lit = useMemo(
    () =>
      found ??
      (focus === undefined || !graph.nodes.some(({ id }) => id === focus) ? undefined : neighbourhood(graph, focus, 1)),
    [found, graph, focus],
  );
  const change = (next: Partial<typeof search>, replace = true): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace });
  const select = (id: string | undefined): void =>
    change({ focus: id, ...(id === undefined ? { hops: undefined } : {}) }, false);
  const openFlow = (id: string | undefined): void =>
    void navigate({
      to: "/flow/{-$flowId}",
      params: { flowId: id },
      search: (before) => ({ ...before, hops: undefined }),
    });
  const filtered =
    flowId !== undefined && graph.nodes.length === 0
      ? { what: t`“${flowId}” does not exist now.`, clear: () => openFlow(undefined) }
      : whole.nodes.length > 0
        ? {
            what: q === "" ? t`No node is in the selected layers.` : t`No node matches “${q}”.`,
            clear: () => change({ q: undefined, layers: undefined }),
          }
        : undefined;
  const selected = graph.nodes.find(({ id }) => id === focus);
  const list = (
    <DataRegion
      loading={!loaded}
      error={error}
      empty={graph.nodes.length === 0 || (view === "list" && found?.size === 0)}
      filtered={filtered}
      emptyState={
        <EmptyState title={t`Nothing to show`} snippet={SNIPPET}>
          {t`This page shows the functions and triggers of connected workers, and the calls between them.`}
        </EmptyState>
      }
    >
      {view === "list" ? (
        <FlowList {...{ graph, found, selected: focus }} onSelect={select} />
      ) : positions === undefined ? (
        <p role="status" className="p-4 text-ink-3">
          {t`Laying out the graph…`}
        </p>
      ) : (
        <Suspense fallback={<p className="p-4 text-ink-3">{t`Loading the graph…`}</p>}>
          <FlowCanvas
            {...{ graph: ordered, positions, lit, lookOf, labelOf }}
            labels={LABELS}
            isSample={data.observed?.isSample === true}
            isVertical={dir === "tb"}
            selected={focus}
            stepFrom={(id, key) => stepFrom(graph, positions, id, key, dir === "tb")}
            selectionToolbar={(selectedIds, onMove) => (
              <Suspense>
                <AlignBar selected={selectedIds} positions={positions} onMove={onMove} />
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
      title={t`Flow`}
      subject={flowId}
      count={loaded ? graph.nodes.length : undefined}
      controls={
        <FlowControls
          {...{ search, graph, positions, closed }}
          isSample={data.observed?.isSample === true}
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
                isSample={data.observed?.isSample === true}
                onSelect={select}
                onHops={(next) => change({ hops: next })}
                onFlow={openFlow}
                groups={groups}
                onCollapse={(key) => change({ closed: [...closed, key], focus: groupNode(key), hops: undefined })}
                onExpand={(key) =>
                  change({ closed: closed.filter((each) => each !== key), focus: undefined, hops: undefined })
                }
              />
            ) : (
              loaded && <NodeNotFound id={focus} />
            )}
          </SidePane>
        )}
      </div>
    </Page>
  );
}

/** Returns the text in which the search looks for words. For a group, it includes the names of its functions. */
function wordsOf({ label, kind, members = [] }: GraphNode): string {
  return [label, kind, ...members.map((member) => member.label)].join(" ").toLowerCase();
}
