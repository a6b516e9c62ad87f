import "@xyflow/react/dist/style.css";
import "./flow-canvas.css";
import { applyNodeChanges, Background, Controls, MiniMap, type NodeChange, Panel, ReactFlow, type ReactFlowInstance } from "@xyflow/react";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Graph } from "../../model/flow-graph.ts";
import { useIsNarrow } from "../../ui/split.tsx";
import { drawnEdge } from "./drawn-edge.ts";
import { describe, FlowNodeBox, type FlowNodeType } from "./flow-node.tsx";
import { NODE, type Places } from "./layout/place.ts";

const NODE_TYPES = { flow: FlowNodeBox };

export interface FlowCanvasProps {
  readonly graph: Graph;
  readonly places: Places;
  readonly isVertical: boolean;
  readonly selected: string | undefined;
  /** Nodes that a search found; the others stand back. Undefined: no search. */
  readonly found: ReadonlySet<string> | undefined;
  /** Where an arrow key leads from a node. */
  readonly stepFrom: (id: string, key: string) => string | undefined;
  /** What stands above the graph while several nodes are selected. */
  readonly ofSeveral: (chosen: readonly string[], place: (places: Places) => void) => ReactNode;
  readonly onSelect: (id: string | undefined) => void;
  /** After a drag, or a move by keyboard. */
  readonly onMove: (places: Places) => void;
}

/**
 * The graph drawn: wheel zooms, drag pans. The arrow keys lead from node to node; Enter opens one, and then they move it, as a drag does. Shift and drag, or
 * Ctrl and a click or Enter, select several.
 */
export default function FlowCanvas({ graph, places, isVertical, selected, found, stepFrom, ofSeveral, onSelect, onMove }: FlowCanvasProps) {
  const made = useMemo(
    () =>
      readingOrder(graph, places, isVertical).map(
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
  const isNarrow = useIsNarrow(640);
  const canvas = useRef<HTMLDivElement>(null);
  const focusNode = async (id: string): Promise<void> => {
    const element = (): HTMLElement | null => canvas.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) ?? null;
    // In a large graph only what is seen is there.
    if (element() === null) await flow.current?.fitView({ nodes: [{ id }], maxZoom: 1, padding: 2 });
    requestAnimationFrame(() => element()?.focus());
  };
  /** The keys of the node that has the focus; those that move a selected one are the library's. */
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const id = event.target instanceof HTMLElement && event.target.matches(".react-flow__node") ? event.target.dataset.id : undefined;
    if (id === undefined || event.altKey) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) onSelect(id);
    if (!event.key.startsWith("Arrow") || nodes.find((node) => node.id === id)?.selected === true) return;
    event.preventDefault();
    const next = stepFrom(id, event.key);
    if (next !== undefined) void focusNode(next);
  };
  const chosen = nodes.filter((node) => node.selected === true).map(({ id }) => id);
  const place = (next: Places): void => {
    setNodes((before) => before.map((node) => ({ ...node, position: { ...(next.get(node.id) ?? node.position) } })));
    onMove(next);
  };
  return (
    <div ref={canvas} className="min-h-0 flex-1">
      <ReactFlow
        onKeyDown={onKeyDown}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodesChange={change}
        onNodeClick={({ ctrlKey, metaKey, shiftKey }, { id }) => {
          if (!ctrlKey && !metaKey && !shiftKey) onSelect(id);
        }}
        onPaneClick={() => onSelect(undefined)}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements={graph.nodes.length > 150}
        fitView
        fitViewOptions={
          isNarrow ? { padding: 0.08, maxZoom: 1.1, minZoom: 0.6, nodes: beginning(nodes, isVertical) } : { padding: 0.08, maxZoom: 1.1, minZoom: 0.05 }
        }
        minZoom={0.05}
        proOptions={{ hideAttribution: true }}
        className="flow-canvas"
      >
        <Background color="var(--line)" />
        <MiniMap pannable zoomable ariaLabel="Overview of the graph" className="max-md:hidden" />
        <Controls showInteractive={false} />
        {chosen.length > 1 && <Panel position="top-center">{ofSeveral(chosen, place)}</Panel>}
      </ReactFlow>
    </div>
  );
}

/** The first ranks of a layout: a narrow screen shows no more of one at a size that can be read, and a flow is read from where it begins. */
function beginning(nodes: readonly FlowNodeType[], isVertical: boolean): FlowNodeType[] {
  const along = ({ position }: FlowNodeType): number => (isVertical ? position.y : position.x);
  const first = nodes.reduce((least, node) => Math.min(least, along(node)), Number.POSITIVE_INFINITY);
  return nodes.filter((node) => along(node) - first < 2 * (isVertical ? NODE.height : NODE.width));
}

/** So that Tab goes along the layout, rank by rank. */
function readingOrder(graph: Graph, places: Places, isVertical: boolean): Graph["nodes"] {
  const at = (id: string): { readonly x: number; readonly y: number } => places.get(id) ?? { x: 0, y: 0 };
  const [first, then] = isVertical ? (["y", "x"] as const) : (["x", "y"] as const);
  return [...graph.nodes].sort((a, b) => at(a.id)[first] - at(b.id)[first] || at(a.id)[then] - at(b.id)[then]);
}
