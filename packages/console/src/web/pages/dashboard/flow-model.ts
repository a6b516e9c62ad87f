import type { FunctionFigures } from "../../lib/function-figures.ts";

// What calls what, of the whole system in three columns: triggers, functions, and what functions use.

export interface FlowTrigger {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly internal: boolean;
}

/** Of a span, what tells who called what. */
export interface FlowSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly status: string;
  readonly attributes_map: Readonly<Record<string, unknown>>;
}

/** Calls seen from a function to another, or to what the engine provides. */
export interface SeenCall {
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly errors: number;
}

export type Target = "state" | "streams" | "queues" | "events";
export const TARGETS: readonly Target[] = ["state", "streams", "queues", "events"];

export interface FlowNode {
  readonly id: string;
  readonly column: 0 | 1 | 2;
  readonly kind: string;
  readonly label: string;
  /** Beside the label: how often it was called. */
  readonly note: string | undefined;
  readonly isFailing: boolean;
}

export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  /** `declared`: by a trigger. `seen`: in a trace. */
  readonly kind: "declared" | "seen";
  readonly calls: number;
  readonly errors: number;
}

export interface Flow {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
  /** How many of each column are left out. */
  readonly more: readonly [number, number, number];
}

const MOST = 8;

export function targetOf(functionId: string): Target | undefined {
  if (functionId.startsWith("state::")) return "state";
  if (functionId.startsWith("stream::")) return "streams";
  if (functionId.startsWith("queue::") || functionId === "engine::queue::enqueue") return "queues";
  return functionId === "publish" || functionId === "event::emit" ? "events" : undefined;
}

/**
 * Who called whom, by the spans of some traces: the caller is the nearest span above that is a function's. A span that a handler opens for a part of its
 * work names the call that it is in, and is no call itself.
 */
export function seenCalls(spans: readonly FlowSpan[]): readonly SeenCall[] {
  const byId = new Map(spans.map((span) => [`${span.trace_id} ${span.span_id}`, span]));
  const found = new Map<string, { from: string; to: string; calls: number; errors: number }>();
  for (const span of spans) {
    const to = functionOf(span);
    const caller = to === undefined ? undefined : callerOf(span, byId);
    const from = caller === undefined ? undefined : functionOf(caller);
    if (caller === undefined || to === undefined || from === undefined || invocationOf(caller) === invocationOf(span)) continue;
    const key = `${from}\n${to}`;
    const seen = found.get(key) ?? { from, to, calls: 0, errors: 0 };
    seen.calls++;
    if (span.status === "error") seen.errors++;
    found.set(key, seen);
  }
  return [...found.values()];
}

function invocationOf(span: FlowSpan): unknown {
  return span.attributes_map["svc.invocation_id"];
}

/** The function of a call. Jobs on their way name the function that they are for, too, and are no call of it. */
function functionOf(span: FlowSpan): string | undefined {
  if (invocationOf(span) === undefined) return undefined;
  const id = span.attributes_map["svc.function_id"];
  return typeof id === "string" ? id : undefined;
}

function callerOf(span: FlowSpan, byId: ReadonlyMap<string, FlowSpan>): FlowSpan | undefined {
  // Spans come from outside as well: parents may lead in a circle.
  const visited = new Set<FlowSpan>([span]);
  let above = span;
  for (;;) {
    const next = byId.get(`${above.trace_id} ${above.parent_span_id}`);
    if (next === undefined || visited.has(next)) return undefined;
    if (functionOf(next) !== undefined) return next;
    visited.add(next);
    above = next;
  }
}

/** `POST /orders`, a cron expression, a topic, … */
export function triggerLabel({ trigger_type, config }: Pick<FlowTrigger, "trigger_type" | "config">): string {
  const facts: Readonly<Record<string, unknown>> = typeof config === "object" && config !== null ? (config as Readonly<Record<string, unknown>>) : {};
  const text = (...names: readonly string[]): string | undefined => {
    for (const name of names) if (typeof facts[name] === "string") return facts[name];
    return undefined;
  };
  if (trigger_type === "http") return `${text("http_method") ?? "GET"} ${text("api_path") ?? "/"}`;
  return text("expression", "topic", "queue", "event", "scope", "stream_name") ?? trigger_type;
}

export interface FlowSources {
  /** Ids of workers' functions. */
  readonly own: ReadonlySet<string>;
  readonly triggers: readonly FlowTrigger[];
  readonly figures: readonly FunctionFigures[];
  readonly seen: readonly SeenCall[];
}

/** The busiest of each column, and what joins them. */
export function flowOf({ own, triggers, figures, seen }: FlowSources): Flow {
  const figuresById = new Map(figures.map((each) => [each.function_id, each]));
  const callsOf = (id: string): number => figuresById.get(id)?.calls ?? 0;
  const bound = triggers.filter(({ internal }) => !internal);
  const boundIds = new Set(bound.map(({ function_id }) => function_id));
  const ranked = [...own].sort((a, b) => callsOf(b) - callsOf(a) || Number(boundIds.has(b)) - Number(boundIds.has(a)) || a.localeCompare(b));
  const shownFunctions = ranked.slice(0, MOST);
  const place = new Map(shownFunctions.map((id, at) => [id, at]));
  const rankedTriggers = [...bound].sort(
    (a, b) => (place.get(a.function_id) ?? MOST) - (place.get(b.function_id) ?? MOST) || triggerLabel(a).localeCompare(triggerLabel(b)),
  );
  const shownTriggers = rankedTriggers.slice(0, MOST);
  const seenFrom = seen.filter(({ from }) => place.has(from));
  const used = TARGETS.filter((target) => seenFrom.some(({ to }) => targetOf(to) === target));
  const nodes: FlowNode[] = [
    ...shownTriggers.map(
      (trigger): FlowNode => ({
        ...{ id: `trigger ${trigger.id}`, column: 0, kind: trigger.trigger_type, label: triggerLabel(trigger), note: undefined, isFailing: false },
      }),
    ),
    ...shownFunctions.map((id): FlowNode => {
      const errors = figuresById.get(id)?.errors ?? 0;
      const note = errors > 0 ? `${callsOf(id)} calls, ${errors} failed` : `${callsOf(id)} calls`;
      return { id: `function ${id}`, column: 1, kind: "function", label: id, note: figures.length === 0 ? undefined : note, isFailing: errors > 0 };
    }),
    ...used.map((target): FlowNode => ({ id: `target ${target}`, column: 2, kind: target, label: target, note: undefined, isFailing: false })),
  ];
  const declared = shownTriggers
    .filter(({ function_id }) => place.has(function_id))
    .map(
      (trigger): FlowEdge => ({
        ...{ from: `trigger ${trigger.id}`, to: `function ${trigger.function_id}`, kind: "declared", calls: 0, errors: 0 },
      }),
    );
  // What a job runs is called by the queue; what events and states occasion is joined to its trigger already.
  const fed = seen.filter(({ from, to }) => targetOf(from) === "queues" && used.includes("queues") && place.has(to) && !boundIds.has(to));
  return {
    nodes,
    edges: [...declared, ...seenEdges([...seenFrom, ...fed], place)],
    more: [bound.length - shownTriggers.length, own.size - shownFunctions.length, 0],
  };
}

/** Calls of several functions of one kind (`state::get`, `state::set`) are one edge. */
function seenEdges(seen: readonly SeenCall[], shown: ReadonlyMap<string, number>): readonly FlowEdge[] {
  const edges = new Map<string, FlowEdge>();
  for (const { from, to, calls, errors } of seen) {
    const target = targetOf(to);
    if (target === undefined && !shown.has(to)) continue;
    const source = targetOf(from);
    const a = source === undefined ? `function ${from}` : `target ${source}`;
    const b = target === undefined ? `function ${to}` : `target ${target}`;
    const before = edges.get(`${a}\n${b}`);
    edges.set(`${a}\n${b}`, { from: a, to: b, kind: "seen", calls: calls + (before?.calls ?? 0), errors: errors + (before?.errors ?? 0) });
  }
  return [...edges.values()];
}
