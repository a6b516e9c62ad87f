/** The members of a span that show which function called which. */
export interface FlowSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly status: string;
  readonly attributes_map: Readonly<Record<string, unknown>>;
}

/** Observed calls between two functions. The called one may be a function of the engine. */
export interface SeenCall {
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly errors: number;
}

/** Root span of a trace. */
export interface TraceRoot {
  readonly trace_id: string;
  readonly name: string;
}

/**
 * Returns the calls between functions in the spans. The caller is the function of the nearest span above. A span that a
 * handler opens for a part of its work is not a call, although it has the id of the handler's call.
 */
export function seenCalls(spans: readonly FlowSpan[]): readonly SeenCall[] {
  const byId = new Map(spans.map((span) => [`${span.trace_id} ${span.span_id}`, span]));
  const found = new Map<string, { from: string; to: string; calls: number; errors: number }>();
  for (const span of spans) {
    const to = functionOf(span);
    const caller = to === undefined ? undefined : callerOf(span, byId);
    const from = caller === undefined ? undefined : functionOf(caller);
    if (caller === undefined || to === undefined || from === undefined || invocationOf(caller) === invocationOf(span))
      continue;
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

/** Returns the function of a call's span. Spans of jobs name a function too, but they are not calls. */
function functionOf(span: FlowSpan): string | undefined {
  if (invocationOf(span) === undefined) return undefined;
  const id = span.attributes_map["svc.function_id"];
  return typeof id === "string" ? id : undefined;
}

function callerOf(span: FlowSpan, byId: ReadonlyMap<string, FlowSpan>): FlowSpan | undefined {
  // Spans may come from outside, so their parents may form a cycle.
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

/**
 * Selects traces of as many different names as possible, the latest first, so that frequent traces do not hide rare
 * ones.
 */
export function varied(roots: readonly TraceRoot[], most: number): readonly string[] {
  const byName = new Map<string, string[]>();
  for (const { name, trace_id } of roots) byName.set(name, [...(byName.get(name) ?? []), trace_id]);
  const chosen: string[] = [];
  for (let round = 0; chosen.length < most; round++) {
    const next = [...byName.values()].flatMap((ids) => ids[round] ?? []);
    if (next.length === 0) break;
    chosen.push(...next.slice(0, most - chosen.length));
  }
  return chosen;
}
