import "@xyflow/react/dist/style.css";
import { applyNodeChanges, Background, Controls, type Edge, MarkerType, MiniMap, type NodeChange, ReactFlow, type ReactFlowInstance } from "@xyflow/react";
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { describe, FlowNodeBox, type FlowNodeType } from "./flow-node.tsx";
import { NODE, type Places } from "./layout/place.ts";
import type { Graph, GraphEdge } from "./model/flow-graph.ts";

const COLORS = {
  "--xy-background-color": "var(--canvas)",
  "--xy-minimap-background-color": "var(--surface)",
  "--xy-minimap-mask-background-color": "color-mix(in srgb, var(--canvas) 60%, transparent)",
  "--xy-minimap-node-background-color": "var(--line-strong)",
  "--xy-controls-button-background-color": "var(--surface)",
  "--xy-controls-button-background-color-hover": "var(--hover)",
  "--xy-controls-button-color": "var(--ink)",
  "--xy-controls-button-color-hover": "var(--ink)",
  "--xy-controls-button-border-color": "var(--line)",
} as CSSProperties;
const NODE_TYPES = { flow: FlowNodeBox };

export interface FlowCanvasProps {
  readonly graph: Graph;
  readonly places: Places;
  readonly isVertical: boolean;
  readonly selected: string | undefined;
  /** Nodes that a search found; the others stand back. Undefined: no search. */
  readonly found: ReadonlySet<string> | undefined;
  readonly onSelect: (id: string | undefined) => void;
  /** After a drag, or a move by keyboard. */
  readonly onMove: (places: Places) => void;
}

/** The graph drawn: wheel zooms, drag pans, nodes are moved by drag or by arrow keys after Enter; Shift and drag selects several. */
export default function FlowCanvas({ graph, places, isVertical, selected, found, onSelect, onMove }: FlowCanvasProps) {
  const made = useMemo(
    () =>
      readingOrder(graph, places).map(
        (node): FlowNodeType => ({
          ...{ id: node.id, type: "flow", position: { ...(places.get(node.id) ?? { x: 0, y: 0 }) }, width: NODE.width, height: NODE.height },
          data: { node, isDim: found !== undefined && !found.has(node.id), isFocus: node.id === selected, isVertical },
          ariaLabel: describe(node),
        }),
      ),
    [graph, places, found, selected, isVertical],
  );
  const [nodes, setNodes] = useState(made);
  const isDragging = useRef(false);
  useEffect(() => {
    if (!isDragging.current) setNodes((before) => made.map((node) => ({ ...node, selected: before.find(({ id }) => id === node.id)?.selected ?? false })));
  }, [made]);
  const edges = useMemo(() => graph.edges.map((edge) => drawnEdge(edge, found)), [graph.edges, found]);
  const flow = useRef<ReactFlowInstance<FlowNodeType>>(undefined);
  useEffect(() => {
    if (selected !== undefined) void flow.current?.fitView({ nodes: [{ id: selected }], maxZoom: 1, duration: 200, padding: 2 });
  }, [selected]);
  const change = (changes: NodeChange<FlowNodeType>[]): void => {
    const next = applyNodeChanges(changes, nodes);
    setNodes(next);
    const moves = changes.filter((each) => each.type === "position");
    isDragging.current = moves.some(({ dragging }) => dragging === true);
    if (moves.length > 0 && !isDragging.current) onMove(new Map(next.map(({ id, position }) => [id, position])));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const id = (event.target as HTMLElement).getAttribute("data-id");
    if (id !== null && event.key === "Enter") onSelect(id);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the nodes within
    <div className="min-h-0 flex-1" onKeyDown={onKeyDown}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodesChange={change}
        onNodeClick={(_, { id }) => onSelect(id)}
        onPaneClick={() => onSelect(undefined)}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements={graph.nodes.length > 150}
        fitView
        fitViewOptions={{ padding: 0.15, maxZoom: 1.1 }}
        minZoom={0.05}
        proOptions={{ hideAttribution: true }}
        style={COLORS}
      >
        <Background color="var(--line)" />
        <MiniMap pannable zoomable ariaLabel="Overview of the graph" className="max-md:hidden" />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

/** So that Tab goes from left to right and from top to bottom. */
function readingOrder(graph: Graph, places: Places): Graph["nodes"] {
  const at = (id: string): { readonly x: number; readonly y: number } => places.get(id) ?? { x: 0, y: 0 };
  return [...graph.nodes].sort((a, b) => at(a.id).x - at(b.id).x || at(a.id).y - at(b.id).y);
}

function drawnEdge(edge: GraphEdge, found: ReadonlySet<string> | undefined): Edge {
  const color = edge.errors > 0 ? "var(--danger)" : "var(--line-strong)";
  const isObserved = edge.kind === "observed";
  const isDim = found !== undefined && !(found.has(edge.from) && found.has(edge.to));
  return {
    id: JSON.stringify([edge.kind, edge.from, edge.to]),
    ...{ source: edge.from, target: edge.to, label: isObserved ? `${edge.calls}×${edge.errors > 0 ? `, ${edge.errors} failed` : ""}` : undefined },
    style: {
      ...{ stroke: color, strokeWidth: isObserved ? Math.min(5, 1 + Math.log2(edge.calls + 1) / 2) : 1.5, opacity: isDim ? 0.15 : 1 },
      ...(isObserved ? { strokeDasharray: "6 4" } : {}),
    },
    labelStyle: { fill: "var(--ink-2)", fontSize: 11, opacity: isDim ? 0.15 : 1 },
    labelBgStyle: { fill: "var(--canvas)" },
    markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
  };
}
