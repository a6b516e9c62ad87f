import { t } from "../../../labels/translate.ts";
import type { Graph, GraphNode } from "../../../model/flow-graph.ts";

/** Layers that can be shown besides functions. The layer `calls` has the edges that were seen in traces. */
export const LAYERS = ["triggers", "state", "streams", "queues", "events", "calls"] as const;
export type Layer = (typeof LAYERS)[number];

export const LAYER_NAMES: Readonly<Record<Layer, string>> = {
  triggers: t`Triggers`,
  state: t`State`,
  streams: t`Streams`,
  queues: t`Queues`,
  events: t`Events`,
  calls: t`Calls seen in traces`,
};

/** Returns the layer of a node; undefined for functions, which are always shown. */
function layerOf({ kind }: GraphNode): Layer | undefined {
  switch (kind) {
    case "function":
    case "group":
      return undefined;
    case "state":
      return "state";
    case "stream":
      return "streams";
    case "queue":
      return "queues";
    case "topic":
      return "events";
    default:
      return "triggers";
  }
}

/** Returns the graph with only these layers; with all of them if `shown` is undefined. */
export function withLayers(graph: Graph, shown: readonly Layer[] | undefined): Graph {
  if (shown === undefined) return graph;
  const nodes = graph.nodes.filter((node) => {
    const layer = layerOf(node);
    return layer === undefined || shown.includes(layer);
  });
  const ids = new Set(nodes.map(({ id }) => id));
  const edges = graph.edges.filter(
    ({ from, to, kind }) => ids.has(from) && ids.has(to) && (kind === "declared" || shown.includes("calls")),
  );
  return { nodes, edges };
}
