import type { Worker } from "@svc-runtime/sdk";
import { CommandFailure } from "../exit-codes.ts";
import { escapeUnprintable } from "../logs/log-lines.ts";
import { dayAndTime } from "../terminal/times.ts";

/** Summary of a trace in a list. */
export interface TraceRow {
  readonly trace_id: string;
  readonly root_name: string | null;
  readonly service: string | null;
  readonly status: string;
  readonly start_time_ms: number;
  readonly duration_ms: number | null;
  readonly span_count: number;
  readonly error_count: number;
  /** Engines of the cluster that have spans of the trace. */
  readonly nodes?: readonly string[];
}

/** Engines of a cluster whose answers were merged. The members are absent without a cluster. */
export interface MergedFrom {
  readonly nodes?: readonly string[];
  /** Engines that did not answer. */
  readonly missing?: readonly string[];
}

type Query = Readonly<Record<string, unknown>>;

interface TracePage extends MergedFrom {
  readonly spans: readonly { readonly trace: TraceRow }[];
  readonly cursor: string | null;
}

export async function listTraces(
  engine: Pick<Worker, "call">,
  query: Query,
): Promise<{ readonly traces: readonly TraceRow[]; readonly cursor: string | null } & MergedFrom> {
  const { spans, ...rest } = await engine.call<TracePage>({ function_id: "engine::traces::list", payload: query });
  return { ...rest, traces: spans.map(({ trace }) => trace) };
}

const ID_LENGTH = 32;
/** Page size, and maximum number of pages, of a search for a trace id by its first characters. */
const PAGE_SIZE = 1_000;
const MAX_PAGES = 20;
const MAX_SHOWN = 10;

/** Returns the full id of the trace whose id begins with `prefix`. Throws if no trace or several traces match. */
export async function fullTraceId(engine: Pick<Worker, "call">, prefix: string): Promise<string> {
  if (prefix.length === ID_LENGTH) return prefix;
  const matching: TraceRow[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const found: Awaited<ReturnType<typeof listTraces>> = await listTraces(engine, {
      limit: PAGE_SIZE,
      include_internal: true,
      ...(cursor === null ? {} : { cursor }),
    });
    matching.push(...found.traces.filter(({ trace_id }) => trace_id.startsWith(prefix)));
    cursor = found.cursor;
    if (cursor === null || matching.length > MAX_SHOWN) break;
  }
  const [only, ...others] = matching;
  if (only === undefined)
    throw cursor === null
      ? traceNotFound(prefix)
      : new CommandFailure(`None of the latest ${MAX_PAGES * PAGE_SIZE} traces begins with ${prefix}.`);
  if (others.length === 0) return only.trace_id;
  throw new CommandFailure(`${prefix} matches several traces; give more characters of the id:`, {
    advice: matching
      .slice(0, MAX_SHOWN)
      .map(
        ({ trace_id, start_time_ms, root_name }) =>
          `  ${trace_id}  ${dayAndTime(start_time_ms)}  ${escapeUnprintable(root_name ?? "")}`,
      ),
  });
}

export function traceNotFound(id: string): CommandFailure {
  return new CommandFailure(`Trace ${id} not found; it may have been evicted.`, { advice: ["See: svc traces"] });
}
