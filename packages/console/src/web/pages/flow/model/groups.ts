import { plural } from "../../../labels/translate.ts";
import type { Graph, GraphEdge, GraphNode } from "../../../model/flow-graph.ts";
import { prefixOf } from "../../../model/functions.ts";

/** A group of functions that can be collapsed into one node: those of one worker, or those with the same prefix. */
export interface FlowGroup {
  /** Key in the address: a prefix, or `worker:` and the name of a worker. */
  readonly key: string;
  readonly by: "worker" | "prefix";
  readonly name: string;
  readonly count: number;
}

/**
 * Maximum number of nodes that are legible at once. In a larger graph, the functions of each worker are collapsed at
 * first.
 */
const MAX_OPEN_NODES = 40;
const WORKER = "worker:";

/** Returns the groups with more than one function: first those by worker, then those by prefix, each sorted by name. */
export function groupsOf(graph: Graph): readonly FlowGroup[] {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) for (const key of keysOf(node)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts]
    .flatMap(([key, count]): readonly FlowGroup[] => (count > 1 ? [{ key, ...partsOf(key), count }] : []))
    .sort((a, b) => (a.by === b.by ? (a.name < b.name ? -1 : 1) : a.by === "worker" ? -1 : 1));
}

/** Returns the groups that are collapsed until the user chooses. `focus` is a node that must stay visible. */
export function closedByDefault(
  graph: Graph,
  groups: readonly FlowGroup[],
  focus: string | undefined,
): readonly string[] {
  const focused = graph.nodes.find(({ id }) => id === focus);
  const open = focused === undefined ? [] : groupsWith(groups, focused);
  const workers = groups.filter((group) => group.by === "worker" && !open.includes(group));
  return graph.nodes.length > MAX_OPEN_NODES && groups.filter(({ by }) => by === "worker").length > 1
    ? workers.map(({ key }) => key)
    : [];
}

function partsOf(key: string): Pick<FlowGroup, "by" | "name"> {
  return key.startsWith(WORKER) ? { by: "worker", name: key.slice(WORKER.length) } : { by: "prefix", name: key };
}

/** Returns the keys of a function's groups. Other nodes have no groups. */
function keysOf({ kind, label, worker }: GraphNode): readonly string[] {
  if (kind !== "function") return [];
  return [...(worker === undefined ? [] : [WORKER + worker]), ...(prefixOf(label) === "" ? [] : [prefixOf(label)])];
}

/** Returns the groups that a function belongs to. */
export function groupsWith(groups: readonly FlowGroup[], node: GraphNode): readonly FlowGroup[] {
  const keys = keysOf(node);
  return groups.filter(({ key }) => keys.includes(key));
}

export function groupNode(key: string): string {
  return `group ${key}`;
}

/**
 * Returns the graph with each of the given groups collapsed into one node. This node has the edges of its functions and
 * the sums of their figures. It also contains the triggers that belong to these functions only.
 */
export function collapsed(graph: Graph, closed: readonly string[] | undefined): Graph {
  const keys = new Set(closed);
  if (keys.size === 0) return graph;
  const keyOf = new Map<string, string>();
  for (const node of graph.nodes) {
    const key = keysOf(node).find((each) => keys.has(each));
    if (key !== undefined) keyOf.set(node.id, key);
  }
  for (const { id, triggerType } of graph.nodes) {
    if (triggerType === undefined) continue;
    const targets = new Set(graph.edges.filter(({ from }) => from === id).map(({ to }) => keyOf.get(to)));
    const [key] = targets;
    if (targets.size === 1 && key !== undefined) keyOf.set(id, key);
  }
  const members = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const key = keyOf.get(node.id);
    if (key !== undefined) members.set(key, [...(members.get(key) ?? []), node]);
  }
  const nodes = new Map(
    graph.nodes.map((node) => {
      const key = keyOf.get(node.id);
      const shown = key === undefined ? node : nodeOf(key, members.get(key) ?? []);
      return [shown.id, shown] as const;
    }),
  );
  const edges = new Map<string, GraphEdge>();
  const endOf = (id: string): string => {
    const key = keyOf.get(id);
    return key === undefined ? id : groupNode(key);
  };
  for (const edge of graph.edges) {
    const [from, to] = [endOf(edge.from), endOf(edge.to)];
    // Calls between functions of the same group are left out.
    if (from === to && keyOf.has(edge.from)) continue;
    const key = `${edge.kind}\n${from}\n${to}`;
    const before = edges.get(key);
    edges.set(key, {
      ...edge,
      from,
      to,
      calls: edge.calls + (before?.calls ?? 0),
      errors: edge.errors + (before?.errors ?? 0),
    });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function nodeOf(key: string, members: readonly GraphNode[]): GraphNode {
  const { by, name } = partsOf(key);
  const sum = (count: (node: GraphNode) => number): number => members.reduce((total, node) => total + count(node), 0);
  const notActive = members.filter(({ note }) => note !== undefined).length;
  return {
    ...{
      id: groupNode(key),
      kind: "group",
      label: name,
      method: undefined,
      internal: members.every((m) => m.internal),
    },
    href: `${by === "worker" ? "/workers" : "/functions"}?q=${encodeURIComponent(name)}`,
    note: notActive === 0 ? undefined : plural(notActive, "# trigger is not active", "# triggers are not active"),
    ...{ calls: sum(({ calls }) => calls), errors: sum(({ errors }) => errors) },
    now: { calls: sum(({ now }) => now.calls), errors: sum(({ now }) => now.errors) },
    ...(by === "worker" ? { worker: name } : {}),
    members,
  };
}
