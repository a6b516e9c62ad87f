import { t } from "../../labels/translate.ts";
import "@xyflow/react/dist/style.css";
import "./flow-canvas.css";
import {
  type AriaLabelConfig,
  applyNodeChanges,
  Background,
  Controls,
  MiniMap,
  type NodeChange,
  Panel,
  ReactFlow,
  type ReactFlowInstance,
  useStore,
} from "@xyflow/react";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { useHotkey } from "../../lib/hotkeys.ts";
import type { Graph, GraphEdge, GraphNode } from "../../model/flow-graph.ts";
import { toFlowEdge } from "./flow-edge.ts";
import { FlowNodeBox, type FlowNodeType } from "./flow-node.tsx";
import { NODE, type Positions } from "./layout/positions.ts";
import type { NodeLook } from "./model/node-look.ts";

const NODE_TYPES = { flow: FlowNodeBox };
/** Zoom at which the smallest texts (12 px) have 11 px on the screen. The page itself never zooms out further. */
const LEGIBLE_ZOOM = 11 / 12;
const MAX_ZOOM = 1.1;
const MARGIN = 24;
/** Height of the buttons at the bottom, including their margin. */
const BUTTONS = 56;
const SELECTED = { minZoom: LEGIBLE_ZOOM, maxZoom: 1, padding: 2 } as const;

export interface FlowCanvasProps {
  /** The graph to show. Tab visits its nodes in their order here. */
  readonly graph: Graph;
  readonly positions: Positions;
  readonly labels: Partial<AriaLabelConfig>;
  readonly isVertical: boolean;
  readonly selected: string | undefined;
  /**
   * Nodes that are highlighted: those that match the search, or the selected node and its neighbours. All other nodes
   * are dimmed.
   */
  readonly lit: ReadonlySet<string> | undefined;
  readonly lookOf: (node: GraphNode) => NodeLook;
  readonly labelOf: (edge: GraphEdge) => string;
  /** True if the counts of edges are lower bounds. */
  readonly isSample: boolean;
  /** Returns the node to which an arrow key moves the focus. */
  readonly stepFrom: (id: string, key: string) => string | undefined;
  /** Returns the toolbar that is shown above the graph while several nodes are selected. */
  readonly selectionToolbar: (selectedIds: readonly string[], onMove: (positions: Positions) => void) => ReactNode;
  readonly onSelect: (id: string | undefined) => void;
  /** Called after nodes were moved by a drag or by keyboard. */
  readonly onMove: (positions: Positions) => void;
}

/**
 * The graph on a canvas. The wheel zooms, and dragging moves the view. Arrow keys move the focus along edges; j and k
 * move it through all nodes. Enter opens and selects a node. After that, arrow keys move the node. Shift-drag,
 * Ctrl-click and Ctrl-Enter select several nodes.
 */
export default function FlowCanvas({
  graph,
  positions,
  labels,
  isVertical,
  selected,
  lit,
  lookOf,
  labelOf,
  isSample,
  stepFrom,
  selectionToolbar,
  onSelect,
  onMove,
}: FlowCanvasProps) {
  const laidOut = useMemo(
    () =>
      graph.nodes.map((node): FlowNodeType => {
        const look = lookOf(node);
        return {
          id: node.id,
          type: "flow",
          position: { x: 0, y: 0, ...positions.get(node.id) },
          width: NODE.width,
          height: NODE.height,
          data: {
            node,
            look,
            isDim: lit !== undefined && !lit.has(node.id),
            isFocus: node.id === selected,
            isVertical,
          },
          ariaLabel: look.about,
        };
      }),
    [graph.nodes, positions, lit, selected, isVertical, lookOf],
  );
  const [nodes, setNodes] = useState(laidOut);
  const isDragging = useRef(false);
  useEffect(() => {
    if (!isDragging.current)
      setNodes((before) =>
        laidOut.map((node) => ({ ...node, selected: before.find(({ id }) => id === node.id)?.selected ?? false })),
      );
  }, [laidOut]);
  const edges = useMemo(
    () => graph.edges.map((edge) => toFlowEdge(edge, { lit, isSample, labelOf })),
    [graph.edges, lit, isSample, labelOf],
  );
  const flow = useRef<ReactFlowInstance<FlowNodeType>>(undefined);
  useEffect(() => {
    if (selected !== undefined) void flow.current?.fitView({ nodes: [{ id: selected }], ...SELECTED, duration: 200 });
  }, [selected]);
  const change = (changes: NodeChange<FlowNodeType>[]): void => {
    const next = applyNodeChanges(changes, nodes);
    setNodes(next);
    const moves = changes.filter((each) => each.type === "position");
    isDragging.current = moves.some(({ dragging }) => dragging);
    if (moves.length > 0 && !isDragging.current) onMove(new Map(next.map(({ id, position }) => [id, position])));
  };
  const canvas = useRef<HTMLDivElement>(null);
  const focusNode = async (id: string): Promise<void> => {
    const element = (): HTMLElement | null =>
      canvas.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) ?? null;
    // In a large graph, only visible nodes have elements, so the node is first moved into view.
    if (element() === null) await flow.current?.fitView({ nodes: [{ id }], ...SELECTED });
    requestAnimationFrame(() => element()?.focus());
  };
  /**
   * Focuses the next or previous node in reading order. It starts at the focused node; if none has the focus, at the
   * open node.
   */
  const focusNeighbour = (step: 1 | -1): void => {
    const ids = graph.nodes.map(({ id }) => id);
    const focused = document.activeElement?.closest<HTMLElement>(".react-flow__node")?.dataset.id;
    const from = ids.indexOf(focused ?? selected ?? "");
    const next = ids[Math.max(from + step, 0)] ?? ids.at(-1);
    if (next !== undefined) void focusNode(next);
  };
  useHotkey("j", t`Next node of the graph`, () => focusNeighbour(1), t`Flow`);
  useHotkey("k", t`Previous node of the graph`, () => focusNeighbour(-1), t`Flow`);
  /** Handles keys while a node has the focus. The arrow keys that move a selected node are handled by React Flow. */
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const id =
      event.target instanceof HTMLElement && event.target.matches(".react-flow__node")
        ? event.target.dataset.id
        : undefined;
    if (id === undefined || event.altKey) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) onSelect(id);
    if (!event.key.startsWith("Arrow") || nodes.find((node) => node.id === id)?.selected) return;
    event.preventDefault();
    const next = stepFrom(id, event.key);
    if (next !== undefined) void focusNode(next);
  };
  const selectedIds = nodes.filter((node) => node.selected).map(({ id }) => id);
  const moveSelected = (next: Positions): void => {
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
          showBeginning(instance, canvas.current);
        }}
        onNodesChange={change}
        onNodeClick={({ ctrlKey, metaKey, shiftKey }, { id }) => {
          if (!ctrlKey && !metaKey && !shiftKey) onSelect(id);
        }}
        onPaneClick={() => onSelect(undefined)}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        ariaLabelConfig={labels}
        onlyRenderVisibleElements={graph.nodes.length > 150}
        minZoom={0.05}
        proOptions={{ hideAttribution: true }}
        className="flow-canvas"
      >
        <Background color="var(--line)" />
        <ZoomLevel canvas={canvas} />
        <MiniMap pannable zoomable className="max-md:hidden" style={{ width: 140, height: 90 }} />
        <Controls showInteractive={false} orientation="horizontal" />
        {selectedIds.length > 1 && <Panel position="top-center">{selectionToolbar(selectedIds, moveSelected)}</Panel>}
      </ReactFlow>
    </div>
  );
}

/** Shows the whole graph if it is then legible. Otherwise shows its beginning at a legible zoom. */
function showBeginning(flow: ReactFlowInstance<FlowNodeType>, canvas: HTMLElement | null): void {
  const { x, y, width, height } = flow.getNodesBounds(flow.getNodes());
  const { clientWidth = 0, clientHeight = 0 } = canvas ?? {};
  const fits = Math.min((clientWidth - 2 * MARGIN) / width, (clientHeight - 2 * MARGIN) / height);
  const zoom = Math.min(MAX_ZOOM, Math.max(LEGIBLE_ZOOM, fits));
  const start = (from: number, length: number, room: number): number =>
    Math.max(MARGIN, (room - length * zoom) / 2) - from * zoom;
  void flow.setViewport({ x: start(x, width, clientWidth), y: start(y, height, clientHeight - BUTTONS), zoom });
}

/** Passes the zoom to the styles, which use it to keep names legible. */
function ZoomLevel({ canvas }: { readonly canvas: RefObject<HTMLElement | null> }) {
  const zoom = useStore(({ transform }) => transform[2]);
  useEffect(() => {
    canvas.current?.style.setProperty("--flow-zoom", String(zoom));
    // A name gets as many lines as its node has room for.
    canvas.current?.style.setProperty("--flow-lines", String(Math.max(1, Math.floor((NODE.height / 12) * zoom))));
    canvas.current?.classList.toggle("flow-canvas-small", zoom < LEGIBLE_ZOOM - 0.01);
  }, [canvas, zoom]);
  return null;
}
