import type { FlowSpan, SeenCall } from "./seen-calls.ts";

/** Use of a state scope, stream, queue or topic. Its name is undefined if it is not known. */
export interface Use extends SeenCall {
  readonly kind: "state" | "stream" | "queue" | "topic";
  readonly name: string | undefined;
}

/** Returns the kind of resource that a function of the engine uses. */
export function kindOfUse(functionId: string): Use["kind"] | undefined {
  if (functionId.startsWith("state::")) return "state";
  if (functionId.startsWith("stream::")) return "stream";
  if (functionId.startsWith("queue::") || functionId === "engine::queue::enqueue") return "queue";
  return functionId === "publish" || functionId === "event::emit" ? "topic" : undefined;
}

const NAMES: Readonly<Record<Use["kind"], readonly string[]>> = {
  state: ["scope", "group_id"],
  stream: ["stream_name", "stream"],
  queue: ["queue", "topic"],
  topic: ["topic", "event", "name"],
};

/** Returns the name of the resource in a call's input. Returns undefined if the input contains none or is truncated. */
export function nameInInput(kind: Use["kind"], json: string | undefined): string | undefined {
  let input: unknown;
  try {
    input = JSON.parse(json ?? "null");
  } catch {
    return undefined;
  }
  if (typeof input !== "object" || input === null) return undefined;
  for (const name of NAMES[kind]) {
    const value = (input as Readonly<Record<string, unknown>>)[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

/** A call of a function of the engine by another function. */
export interface UseCall {
  readonly from: string;
  readonly to: string;
  readonly kind: Use["kind"];
  readonly invocationId: string;
  readonly isError: boolean;
}

/** Returns the calls of functions of the engine that use resources. `seenCalls` returns the other calls. */
export function callsOfThings(spans: readonly FlowSpan[]): readonly UseCall[] {
  const byId = new Map(spans.map((span) => [`${span.trace_id} ${span.span_id}`, span]));
  return spans.flatMap((span): readonly UseCall[] => {
    const to = text(span, "svc.function_id");
    const invocationId = text(span, "svc.invocation_id");
    const kind = to === undefined ? undefined : kindOfUse(to);
    if (to === undefined || kind === undefined || invocationId === undefined) return [];
    const visited = new Set<FlowSpan>([span]);
    for (
      let above = byId.get(`${span.trace_id} ${span.parent_span_id}`);
      above !== undefined && !visited.has(above);
    ) {
      const from = text(above, "svc.function_id");
      if (from !== undefined) return [{ from, to, kind, invocationId, isError: span.status === "error" }];
      visited.add(above);
      above = byId.get(`${above.trace_id} ${above.parent_span_id}`);
    }
    return [];
  });
}

/**
 * Groups calls by the resource that they use. If the name is not known, but the same function uses only one resource of
 * the kind, its name is used.
 */
export function usesOf(calls: readonly UseCall[], names: ReadonlyMap<string, string | undefined>): readonly Use[] {
  const known = new Map<string, Set<string>>();
  for (const { from, to, kind, invocationId } of calls) {
    const name = names.get(invocationId);
    const key = `${from}\n${to}\n${kind}`;
    if (name !== undefined) known.set(key, (known.get(key) ?? new Set()).add(name));
  }
  const uses = new Map<string, Use>();
  for (const { from, to, kind, invocationId, isError } of calls) {
    const others = known.get(`${from}\n${to}\n${kind}`);
    const name = names.get(invocationId) ?? (others?.size === 1 ? [...others][0] : undefined);
    const key = `${from}\n${kind}\n${name}`;
    const before = uses.get(key);
    uses.set(key, {
      from,
      to,
      kind,
      name,
      calls: (before?.calls ?? 0) + 1,
      errors: (before?.errors ?? 0) + (isError ? 1 : 0),
    });
  }
  return [...uses.values()];
}

/**
 * Selects the calls whose input should be read to find the name of the resource. Selects only some for each pair of
 * caller and callee.
 */
export function callsToRead(
  calls: readonly UseCall[],
  isKnown: (id: string) => boolean,
  each: number,
  most: number,
): readonly UseCall[] {
  const counts = new Map<string, number>();
  return calls
    .filter(({ from, to, invocationId }) => {
      const key = `${from}\n${to}`;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count <= each && !isKnown(invocationId);
    })
    .slice(0, most);
}

/** Returns the calls that are not uses of resources. */
export function withoutUses(seen: readonly SeenCall[]): readonly SeenCall[] {
  return seen.filter(({ to }) => kindOfUse(to) === undefined);
}

/** Runs of a queue's jobs that call a function. */
export interface JobRun {
  /** Name of the queue. Undefined if it is not known. */
  readonly queue: string | undefined;
  readonly to: string;
  readonly calls: number;
  readonly errors: number;
}

/** Returns the runs of jobs in the spans. A run has a span of its own, besides that of the call. */
export function runsOfJobs(spans: readonly FlowSpan[]): readonly JobRun[] {
  const runs = new Map<string, JobRun>();
  for (const span of spans) {
    const [queue, to] = [text(span, "svc.job.queue"), text(span, "svc.function_id")];
    // The span of the call has the job's attributes too, so it is left out.
    if (queue === undefined || to === undefined || text(span, "svc.invocation_id") !== undefined) continue;
    const before = runs.get(`${queue}\n${to}`);
    runs.set(`${queue}\n${to}`, {
      queue,
      to,
      calls: (before?.calls ?? 0) + 1,
      errors: (before?.errors ?? 0) + (span.status === "error" ? 1 : 0),
    });
  }
  return [...runs.values()];
}

function text(span: FlowSpan, name: string): string | undefined {
  const value = span.attributes_map[name];
  return typeof value === "string" ? value : undefined;
}
