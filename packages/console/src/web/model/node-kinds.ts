import { t } from "../labels/translate.ts";
import type { GraphNode, NodeKind } from "./flow-graph.ts";

export const KIND_NAMES: Readonly<Record<NodeKind, string>> = {
  http: t`HTTP trigger`,
  cron: t`Cron trigger`,
  event: t`Event trigger`,
  "queue-trigger": t`Queue trigger`,
  "state-trigger": t`State trigger`,
  trigger: t`Trigger`,
  function: t`Function`,
  group: t`Group`,
  state: t`State`,
  queue: t`Queue`,
  stream: t`Stream`,
  topic: t`Topic`,
};

/** Returns true if calls of the node are counted. */
export function isCalled({ kind }: Pick<GraphNode, "kind">): boolean {
  return kind === "function" || kind === "group";
}

/** Returns true for a resource that functions use. If data about such a node is missing, that is not an error. */
export function isThing({ kind }: Pick<GraphNode, "kind">): boolean {
  return kind === "state" || kind === "stream" || kind === "queue" || kind === "topic";
}
