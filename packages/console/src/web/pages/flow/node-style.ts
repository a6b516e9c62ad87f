import { Boxes, Clock, CodeXml, Database, Globe, ListOrdered, type LucideIcon, Radio, Zap } from "lucide-react";
import type { GraphNode, NodeKind } from "../../model/flow-graph.ts";

/** Icons of nodes, as in the specification's table of node visuals. The icon for streams was added. */
export const ICONS: Readonly<Record<NodeKind, LucideIcon>> = {
  http: Globe,
  cron: Clock,
  event: Zap,
  "queue-trigger": ListOrdered,
  "state-trigger": Database,
  trigger: Zap,
  function: CodeXml,
  group: Boxes,
  state: Database,
  queue: ListOrdered,
  stream: Radio,
  topic: Zap,
};

const METHODS: Readonly<Record<string, string>> = {
  GET: "info",
  POST: "ok",
  PUT: "warn",
  PATCH: "violet",
  DELETE: "danger",
};
const KINDS: Readonly<Record<NodeKind, string>> = {
  http: "accent",
  cron: "violet",
  event: "warn",
  "queue-trigger": "info",
  "state-trigger": "ok",
  trigger: "violet",
  function: "accent",
  group: "accent",
  state: "ok",
  queue: "info",
  stream: "violet",
  topic: "warn",
};

/** Returns the colour token of a node. For an HTTP trigger it depends on the method, for other nodes on the kind. */
export function toneOf({ kind, method }: Pick<GraphNode, "kind" | "method">): string {
  return method === undefined ? KINDS[kind] : (METHODS[method] ?? "accent");
}

/** Class names by colour token. They are written out, because Tailwind finds class names only as literals. */
export const TONE_CLASSES: Readonly<Record<string, string>> = {
  info: "bg-info-soft text-info",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  violet: "bg-violet-soft text-violet",
  danger: "bg-danger-soft text-danger",
  accent: "bg-accent-soft text-accent",
};
