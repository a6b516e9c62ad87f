import type { GraphNode, NodeKind } from "./flow-graph.ts";

export const KIND_NAMES: Readonly<Record<NodeKind, string>> = {
  http: "HTTP trigger",
  cron: "Cron trigger",
  event: "Event trigger",
  "queue-trigger": "Queue trigger",
  "state-trigger": "State trigger",
  trigger: "Trigger",
  function: "Function",
  group: "Group",
  state: "State",
  queue: "Queue",
  stream: "Stream",
  topic: "Topic",
};

/** Returns true if calls of the node are counted. */
export function isCalled({ kind }: Pick<GraphNode, "kind">): boolean {
  return kind === "function" || kind === "group";
}

/** Returns true for a resource that functions use. Missing data about it is not an error. */
export function isThing({ kind }: Pick<GraphNode, "kind">): boolean {
  return kind === "state" || kind === "stream" || kind === "queue" || kind === "topic";
}
