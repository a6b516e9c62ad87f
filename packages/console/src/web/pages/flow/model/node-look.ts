import { t } from "../../../labels/translate.ts";
import { serviceColor } from "../../../lib/service-colors.ts";
import { type GraphNode, NOW_SECONDS } from "../../../model/flow-graph.ts";
import { isCalled, KIND_NAMES } from "../../../model/node-kinds.ts";

export interface NodeLook {
  /** Colour of the worker that the node belongs to. */
  readonly color: string | undefined;
  readonly about: string;
  readonly subtitle: string;
}

export function lookOf(node: GraphNode): NodeLook {
  const { worker } = node;
  const color = worker === undefined ? undefined : serviceColor(worker);
  return { color, about: describe(node), subtitle: subtitle(node) };
}

function describe(node: GraphNode): string {
  const figures = isCalled(node)
    ? node.errors > 0
      ? t`, ${node.calls} calls, ${node.errors} failed`
      : t`, ${node.calls} calls`
    : "";
  const now = node.now.calls > 0 ? t`, ${node.now.calls} in the last ${NOW_SECONDS} s` : "";
  const expression = node.expression === undefined ? "" : ` (${node.expression})`;
  return `${KIND_NAMES[node.kind]} ${node.label}${expression}${figures}${now}${node.note === undefined ? "" : `, ${node.note}`}`;
}

function subtitle(node: GraphNode): string {
  if (node.note !== undefined) return node.note;
  if (!isCalled(node)) return KIND_NAMES[node.kind];
  const functions = node.members?.filter(({ kind }) => kind === "function").length;
  const failed = node.errors > 0 ? t`, ${node.errors} failed` : "";
  // A group has no room for a third text.
  if (functions !== undefined && failed !== "") return t`${functions} functions${failed}`;
  const what = functions === undefined ? "" : t`${functions} functions, `;
  return node.now.calls > 0
    ? t`${what}${node.calls} calls${failed}, ${node.now.calls} now`
    : t`${what}${node.calls} calls${failed}`;
}
