import { t } from "../../labels/translate.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import { type Graph, type GraphNode, graphOf, type TriggerFacts } from "../../model/flow-graph.ts";
import { isThing } from "../../model/node-kinds.ts";
import { kindOfUse, type Use, withoutUses } from "../../model/resource-uses.ts";
import type { SeenCall } from "../../model/seen-calls.ts";

/**
 * The most used part of the flow graph, in three columns: triggers, functions, and the resources that functions use.
 */
export interface Overview extends Graph {
  /** Number of nodes that are left out, for each column. */
  readonly more: readonly [number, number, number];
}

export interface OverviewSources {
  /** IDs of workers' functions. */
  readonly own: ReadonlySet<string>;
  readonly triggers: readonly TriggerFacts[];
  readonly figures: readonly FunctionFigures[];
  readonly seen: readonly SeenCall[];
  readonly cronTexts?: ReadonlyMap<string, string>;
}

/** Maximum number of nodes in a column. */
const MAX_NODES = 8;
const THINGS: readonly Use["kind"][] = ["state", "stream", "queue", "topic"];

export function columnOf(node: Pick<GraphNode, "kind">): 0 | 1 | 2 {
  return node.kind === "function" ? 1 : isThing(node) ? 2 : 0;
}

/**
 * Returns the most used nodes of each column, and the edges between them. The notes of nodes contain numbers of calls.
 */
export function overviewOf(sources: OverviewSources): Overview {
  const { nodes, edges } = wholeOf(sources);
  const bindings = new Map(edges.flatMap(({ kind, from, to }) => (kind === "declared" ? [[from, to] as const] : [])));
  const bound = new Set(bindings.values());
  const triggers = nodes.filter((node) => columnOf(node) === 0);
  const functions = nodes
    .filter((node) => columnOf(node) === 1)
    .sort(
      (a, b) =>
        b.calls - a.calls || Number(bound.has(b.id)) - Number(bound.has(a.id)) || a.label.localeCompare(b.label),
    );
  const rank = new Map(functions.map(({ id }, at) => [id, at]));
  const rankOf = ({ id }: GraphNode): number => rank.get(bindings.get(id) ?? "") ?? functions.length;
  triggers.sort((a, b) => rankOf(a) - rankOf(b) || a.label.localeCompare(b.label));
  // Of each kind of trigger, one is shown with its function, even if it is rarely used.
  const ofKinds = [...new Map([...triggers].reverse().map((node) => [node.kind, node])).values()];
  const needed = new Set(ofKinds.map(({ id }) => bindings.get(id)));
  const shownFunctions = busiest(functions, ({ id }) => needed.has(id));
  const place = new Set(shownFunctions.map(({ id }) => id));
  const shownTriggers = busiest(
    triggers.filter(({ id }) => place.has(bindings.get(id) ?? "")),
    (node) => ofKinds.includes(node),
  );
  const used = new Set(edges.flatMap(({ from, to }) => (place.has(from) ? [to] : [])));
  const things = THINGS.flatMap((kind) => nodes.filter((node) => node.kind === kind && used.has(node.id)));
  const isCounted = sources.figures.length > 0;
  const shown = [...shownTriggers, ...shownFunctions, ...things].map((node) => ({
    ...node,
    note: isCounted ? callsNote(node) : undefined,
  }));
  const order = new Map(shown.map(({ id }, at) => [id, at]));
  return {
    nodes: shown,
    edges: edges
      .filter(({ from, to }) => order.has(from) && order.has(to))
      .sort((a, b) => (order.get(a.from) ?? 0) - (order.get(b.from) ?? 0) || b.calls - a.calls),
    more: [triggers.length - shownTriggers.length, functions.length - shownFunctions.length, 0],
  };
}

/**
 * Returns as many of the first nodes as a column has room for. Nodes for which `isNeeded` is true are always included.
 */
function busiest(nodes: readonly GraphNode[], isNeeded: (node: GraphNode) => boolean): readonly GraphNode[] {
  const kept = new Set([...new Set([...nodes.filter(isNeeded), ...nodes])].slice(0, MAX_NODES));
  return nodes.filter((node) => kept.has(node));
}

/**
 * Returns the graph of all functions of workers. All resources of one kind are one node, because their names are not
 * known here.
 */
function wholeOf({ own, triggers, figures, seen, cronTexts }: OverviewSources): Graph {
  const bound = new Set(triggers.flatMap(({ internal, function_id }) => (internal ? [] : [function_id])));
  return graphOf({
    functions: [...own].map((function_id) => ({ function_id })),
    triggers,
    seen: withoutUses(seen),
    uses: seen.flatMap((call) => {
      const kind = kindOfUse(call.to);
      return kind === undefined ? [] : [{ ...call, kind, name: undefined }];
    }),
    // Functions with a trigger are left out, because they already have an edge from the trigger.
    jobs: seen.flatMap(({ from, ...call }) =>
      kindOfUse(from) === "queue" && !bound.has(call.to) ? [{ ...call, queue: undefined }] : [],
    ),
    figures: new Map(figures.map((each) => [each.function_id, each])),
    ...{ now: new Map(), queues: [], streams: [], scopes: [], system: false, cronTexts },
  });
}

function callsNote({ kind, calls, errors }: GraphNode): string | undefined {
  if (kind !== "function") return undefined;
  return errors > 0 ? t`${calls} calls, ${errors} failed` : t`${calls} calls`;
}
