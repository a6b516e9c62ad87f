import { t } from "../labels/translate.ts";
import type { JobRun, Use } from "./resource-uses.ts";
import type { SeenCall } from "./seen-calls.ts";
import { cronExpressionOf, kindOf, type TriggerItem, triggerLabel } from "./triggers.ts";

// The whole system as a graph: triggers, functions, and the resources that functions use.

export type NodeKind =
  | "http"
  | "cron"
  | "event"
  | "queue-trigger"
  | "state-trigger"
  | "trigger"
  | "function"
  | "group"
  | "state"
  | "queue"
  | "stream"
  | "topic";

export interface GraphNode {
  /** Kind and id, for example `function orders::create`. It must not change, because saved layouts refer to it. */
  readonly id: string;
  readonly kind: NodeKind;
  readonly label: string;
  /** HTTP method. Only for HTTP triggers. */
  readonly method: string | undefined;
  /** Trigger type. Only for triggers. */
  readonly triggerType?: string;
  /** Cron expression. Only for cron triggers, because their label describes the expression in words. */
  readonly expression?: string | undefined;
  /** Address of the page with the node's details. */
  readonly href: string;
  readonly internal: boolean;
  readonly calls: number;
  readonly errors: number;
  /** Calls of the last `NOW_SECONDS` seconds. */
  readonly now: Counts;
  readonly note: string | undefined;
  /** Name of the first worker that provides the function. Only for functions. */
  readonly worker?: string | undefined;
  /** Functions and triggers of a group. Only for groups. */
  readonly members?: readonly GraphNode[];
}

export interface Counts {
  readonly calls: number;
  readonly errors: number;
}

/** Period of `now`, in seconds. */
export const NOW_SECONDS = 15;
const NONE: Counts = { calls: 0, errors: 0 };

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Origin of an edge. `declared`: a trigger declares it. `observed`: it was found in traces. */
  readonly kind: "declared" | "observed";
  readonly calls: number;
  readonly errors: number;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export type TriggerFacts = Pick<
  TriggerItem,
  "id" | "trigger_type" | "function_id" | "config" | "internal" | "status" | "reason"
>;

export interface FunctionFacts {
  readonly function_id: string;
  readonly internal?: boolean;
  readonly worker?: string | undefined;
}

export interface GraphSources {
  readonly functions: readonly FunctionFacts[];
  readonly triggers: readonly TriggerFacts[];
  /** Calls between functions. */
  readonly seen: readonly SeenCall[];
  readonly uses: readonly Use[];
  /** Runs of jobs, by queue and function. */
  readonly jobs: readonly JobRun[];
  readonly figures: ReadonlyMap<string, Counts>;
  /** Calls of the last seconds. */
  readonly now: ReadonlyMap<string, Counts>;
  /** Names of all queues and streams, including unused ones. */
  readonly queues: readonly string[];
  readonly streams: readonly string[];
  readonly scopes: readonly string[];
  readonly system: boolean;
  /** Descriptions of cron expressions. Without a description, the label is the expression. */
  readonly cronTexts?: ReadonlyMap<string, string> | undefined;
}

const TRIGGER_KINDS: Readonly<Record<string, NodeKind>> = {
  http: "http",
  cron: "cron",
  event: "event",
  queue: "queue-trigger",
  state: "state-trigger",
};
const PAGES = {
  state: "/states",
  stream: "/streams?stream=",
  queue: "/queues",
  topic: "/triggers?type=event",
} as const;
const WHOLE = { state: "state", stream: "streams", queue: "queues", topic: "events" } as const;

export function graphOf(sources: GraphSources): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const addEdge = (edge: GraphEdge): void => {
    if (!nodes.has(edge.from) || !nodes.has(edge.to)) return;
    const key = `${edge.kind}\n${edge.from}\n${edge.to}`;
    const before = edges.get(key);
    edges.set(
      key,
      before === undefined ? edge : { ...edge, calls: edge.calls + before.calls, errors: edge.errors + before.errors },
    );
  };
  for (const { function_id: id, internal = false, worker } of sources.functions) {
    if (internal && !sources.system) continue;
    const figures = sources.figures.get(id);
    nodes.set(functionNode(id), {
      ...{
        id: functionNode(id),
        kind: "function",
        label: id,
        method: undefined,
        href: `/functions/${encodeURIComponent(id)}`,
        ...{ internal, worker },
      },
      ...{
        calls: figures?.calls ?? 0,
        errors: figures?.errors ?? 0,
        now: sources.now.get(id) ?? NONE,
        note: undefined,
      },
    });
  }
  const addThing = (kind: Use["kind"], name: string | undefined): string => {
    const node = thingNode(kind, name);
    if (!nodes.has(node.id)) nodes.set(node.id, node);
    return node.id;
  };
  for (const name of sources.queues) addThing("queue", name);
  for (const name of sources.streams) addThing("stream", name);
  for (const name of sources.scopes) addThing("state", name);
  for (const trigger of sources.triggers) {
    if (trigger.internal && !sources.system) continue;
    const node = triggerNode(trigger, sources.cronTexts);
    nodes.set(node.id, node);
    addEdge({ from: node.id, to: functionNode(trigger.function_id), kind: "declared", calls: 0, errors: 0 });
    const source = sourceOf(trigger);
    if (source !== undefined)
      addEdge({ from: addThing(source.kind, source.name), to: node.id, kind: "declared", calls: 0, errors: 0 });
  }
  for (const { from, kind, name } of sources.uses) if (nodes.has(functionNode(from))) addThing(kind, name);
  for (const { from, to, calls, errors } of sources.seen) {
    addEdge({ from: functionNode(from), to: functionNode(to), kind: "observed", calls, errors });
  }
  for (const { queue, to, calls, errors } of sources.jobs) {
    addEdge({ from: thingId("queue", queue), to: functionNode(to), kind: "observed", calls, errors });
  }
  for (const { from, kind, name, calls, errors } of sources.uses) {
    addEdge({ from: functionNode(from), to: thingId(kind, name), kind: "observed", calls, errors });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

export function functionNode(id: string): string {
  return `function ${id}`;
}

function triggerNode(trigger: TriggerFacts, cronTexts: GraphSources["cronTexts"]): GraphNode {
  const expression = cronExpressionOf(trigger);
  const label = cronTexts?.get(expression ?? "") ?? triggerLabel(trigger);
  const kind = TRIGGER_KINDS[kindOf(trigger.trigger_type)] ?? "trigger";
  return {
    ...{
      id: `trigger ${trigger.id}`,
      kind,
      label,
      href: `/triggers/${encodeURIComponent(trigger.id)}`,
      internal: trigger.internal,
      ...NONE,
      now: NONE,
    },
    ...{ triggerType: trigger.trigger_type, expression },
    method: kind === "http" ? (label.split(" ", 1)[0] ?? "GET").toUpperCase() : undefined,
    note:
      trigger.status === "active"
        ? undefined
        : `${trigger.status}${trigger.reason === null ? "" : `: ${trigger.reason}`}`,
  };
}

function thingId(kind: Use["kind"], name: string | undefined): string {
  return `${kind} ${name ?? "*"}`;
}

function thingNode(kind: Use["kind"], name: string | undefined): GraphNode {
  const path =
    kind === "topic" || name === undefined
      ? PAGES[kind].replace(/\?stream=$/, "")
      : kind === "stream"
        ? PAGES.stream
        : `${PAGES[kind]}/`;
  const href = kind === "topic" || name === undefined ? path : path + encodeURIComponent(name);
  return {
    ...{
      id: thingId(kind, name),
      kind,
      label: name ?? WHOLE[kind],
      method: undefined,
      href,
      internal: false,
      ...NONE,
      now: NONE,
    },
    note: name === undefined ? t`name unknown` : undefined,
  };
}

/** Returns the queue, topic, stream or scope that a trigger watches. Returns undefined for patterns. */
function sourceOf({
  trigger_type,
  config,
}: TriggerFacts): { readonly kind: "state" | "queue" | "stream" | "topic"; readonly name: string } | undefined {
  const facts = (typeof config === "object" && config !== null ? config : {}) as Readonly<Record<string, unknown>>;
  const name = (...keys: readonly string[]): string | undefined =>
    keys.map((key) => facts[key]).find((value) => typeof value === "string" && value !== "") as string | undefined;
  const [kind, found] =
    trigger_type === "queue"
      ? (["queue", name("queue", "topic")] as const)
      : trigger_type.startsWith("state")
        ? (["state", name("scope")] as const)
        : kindOf(trigger_type) === "event"
          ? (["topic", name("topic", "event")] as const)
          : (["stream", trigger_type === "stream" ? name("stream_name") : undefined] as const);
  return found === undefined || found.includes("*") ? undefined : { kind, name: found };
}
