import { plural, t } from "../../../labels/translate.ts";
import "@xyflow/react/dist/style.css";
import {
  type AriaLabelConfig,
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import { type CSSProperties, useEffect, useMemo, useState } from "react";
import type { LayoutAnswer, LayoutRequest } from "../../../lib/graph-layout.worker.ts";
import { serviceColor } from "../../../lib/service-colors.ts";
import { duration } from "../../../lib/time.ts";
import { cn } from "../../../ui/cn.ts";
import type { GraphEdge, GraphNode } from "../model/trace-graph.ts";

const WIDTH = 190;
const HEIGHT = 58;

/** Styles that give the buttons the colours of the page. */
const CONTROLS = {
  "--xy-controls-button-background-color": "var(--surface)",
  "--xy-controls-button-background-color-hover": "var(--hover)",
  "--xy-controls-button-color": "var(--ink)",
  "--xy-controls-button-color-hover": "var(--ink)",
  "--xy-controls-button-border-color": "var(--line)",
} as CSSProperties;

type ServiceNode = Node<{ readonly service: GraphNode; readonly color: string }, "service">;
const nodeTypes = { service: ServiceBox };

/** The map as a graph. Tab moves between nodes. Enter shows the spans of a node. */
export default function MapGraph({
  graph,
  labels,
  onOpen,
}: {
  readonly graph: { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] };
  readonly labels: Partial<AriaLabelConfig>;
  readonly onOpen: (service: string) => void;
}) {
  const positions = useLayout(graph);
  const nodes = useMemo(
    () =>
      graph.nodes.map((service): ServiceNode => {
        const position = positions?.find(({ id }) => id === service.id);
        return {
          id: service.id,
          type: "service",
          position: { x: position?.x ?? 0, y: position?.y ?? 0 },
          width: WIDTH,
          height: HEIGHT,
          data: { service, color: serviceColor(service.id) },
          ariaLabel: t`${service.id}: ${service.spans} spans, ${service.errors} errors`,
        };
      }),
    [graph.nodes, positions],
  );
  const edges = useMemo(() => graph.edges.map(drawnEdge), [graph.edges]);
  if (positions === undefined) return <p className="p-4 text-ink-3">{t`Laying out the graph`}</p>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the nodes inside handle the keys
    <div
      className="min-h-0 flex-1"
      onKeyDown={(event) => {
        const id = event.key === "Enter" ? (event.target as HTMLElement).getAttribute("data-id") : null;
        if (id !== null && graph.nodes.some((node) => node.id === id)) onOpen(id);
      }}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodeClick={(_, { id }) => onOpen(id)}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        fitView
        fitViewOptions={{ padding: 0.2, maxZoom: 1.2 }}
        minZoom={0.1}
        ariaLabelConfig={labels}
        proOptions={{ hideAttribution: true }}
        style={CONTROLS}
      >
        <Background color="var(--line)" />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function drawnEdge(edge: GraphEdge): Edge {
  const color = edge.errors > 0 ? "var(--danger)" : "var(--line-strong)";
  return {
    id: JSON.stringify([edge.from, edge.to]),
    source: edge.from,
    target: edge.to,
    ariaLabel: t`From ${edge.from} to ${edge.to}`,
    label:
      edge.errors > 0
        ? t`${edge.calls}×, avg ${duration(edge.avgMs)}, ${edge.errors} failed`
        : t`${edge.calls}×, avg ${duration(edge.avgMs)}`,
    style: { stroke: color, strokeWidth: Math.min(5, 1 + Math.log2(edge.calls + 1) / 2) },
    labelStyle: { fill: "var(--ink-2)", fontSize: 11 },
    labelBgStyle: { fill: "var(--surface)" },
    markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
  };
}

function ServiceBox({ data: { service, color } }: NodeProps<ServiceNode>) {
  return (
    <div
      className={cn(
        "flex h-full items-stretch overflow-hidden rounded-md border bg-surface text-left",
        service.errors > 0 ? "border-danger" : "border-line-strong",
      )}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} className="opacity-0" />
      <span aria-hidden className="w-1.5 shrink-0" style={{ background: color }} />
      <span className="min-w-0 px-2.5 py-1.5">
        <span className="block truncate font-medium text-[13px] text-ink">{service.id}</span>
        <span className="block text-[11px] text-ink-2">
          {plural(service.spans, "# span, {0}", "# spans, {0}", duration(service.totalMs))}
        </span>
        {service.errors > 0 && (
          <span className="block text-[11px] text-danger">{t`${service.errors} with errors`}</span>
        )}
      </span>
      <Handle type="source" position={Position.Right} isConnectable={false} className="opacity-0" />
    </div>
  );
}

/** Returns the layout. A web worker computes it, so that a large graph does not block the page. */
function useLayout(graph: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}): LayoutAnswer | undefined {
  const [positions, setPositions] = useState<LayoutAnswer>();
  // The layout depends only on services and edges. Counts are left out, because in a growing trace they change all the
  // time.
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges.map(({ from, to }) => [from, to])]);
  useEffect(() => {
    const [ids, edges] = JSON.parse(shape) as [string[], [string, string][]];
    const worker = new Worker(new URL("../../../lib/graph-layout.worker.ts", import.meta.url), { type: "module" });
    const request: LayoutRequest = {
      nodes: ids.map((id) => ({ id, width: WIDTH, height: HEIGHT })),
      edges: edges.map(([from, to]) => ({ from, to })),
      direction: "LR",
    };
    worker.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) => setPositions(data));
    worker.postMessage(request);
    return () => worker.terminate();
  }, [shape]);
  return positions;
}
