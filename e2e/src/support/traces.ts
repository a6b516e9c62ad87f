import { vi } from "vitest";

/** The members of a span that tests read (shape of protocol 10.3 with the additions of svc). */
export interface TreeSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string | null;
  readonly name: string;
  readonly service_name: string;
  readonly kind: string;
  readonly status: string;
  readonly duration_ms: number | null;
  readonly start_time_ms: number;
  readonly attributes_map: Readonly<Record<string, unknown>>;
  readonly children: readonly TreeSpan[];
}

export interface Tree {
  readonly roots: readonly TreeSpan[];
  readonly span_count: number;
  readonly partial: boolean;
  readonly orphans: readonly string[];
}

export interface Log {
  readonly body: string;
  readonly service_name: string;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
}

/** Calls a function of the engine and resolves with its result. */
export type Ask = <Answer>(functionId: string, payload: unknown) => Promise<Answer>;

/** Returns the names of a tree with their services, ordered by start: `[["POST /a (svc)", [...children]]]`. */
export type Outline = readonly (readonly [string, Outline])[];

export function outlineOf(spans: readonly TreeSpan[]): Outline {
  return [...spans]
    .sort((a, b) => a.start_time_ms - b.start_time_ms)
    .map(({ name, service_name, children }) => [`${name} (${service_name})`, outlineOf(children)] as const);
}

/** Returns all spans of a tree, parents first. */
export function spansOf(spans: readonly TreeSpan[]): readonly TreeSpan[] {
  return spans.flatMap((span) => [span, ...spansOf(span.children)]);
}

/** Resolves with the tree of a trace when it has `count` spans, all ended. */
export async function treeOf(ask: Ask, traceId: string, count: number, timeoutMs = 15_000): Promise<Tree> {
  return until(
    `the trace has ${count} spans that ended`,
    timeoutMs,
    () => ask<Tree>("engine::traces::tree", { trace_id: traceId }),
    (tree) => tree.span_count >= count && spansOf(tree.roots).every(({ duration_ms }) => duration_ms !== null),
  );
}

/** Resolves with the log entries of a trace when there are `count`. */
export async function logsOf(ask: Ask, traceId: string, count: number, timeoutMs = 15_000): Promise<readonly Log[]> {
  const { logs } = await until(
    `the trace has ${count} log entries`,
    timeoutMs,
    () => ask<{ logs: readonly Log[] }>("engine::logs::list", { trace_id: traceId, sort_order: "asc" }),
    (page) => page.logs.length >= count,
  );
  return logs;
}

/**
 * Polls 20 times a second until the result is accepted. Another process produces it, without an event that a test could
 * await.
 */
export async function until<Answer>(
  what: string,
  timeoutMs: number,
  ask: () => Promise<Answer>,
  willDo: (answer: Answer) => boolean,
): Promise<Answer> {
  return vi.waitFor(
    async () => {
      const answer = await ask();
      if (willDo(answer)) return answer;
      throw new Error(`it has not come to this: ${what}; the last answer is ${JSON.stringify(answer)}`);
    },
    { timeout: timeoutMs, interval: 50 },
  );
}
