import type { Worker } from "@svc/sdk";
import { CommandFailure } from "./exit-codes.ts";
import { escapeUnprintable } from "./log-lines.ts";
import { dayAndTime } from "./times.ts";

/** A trace in the list of them. */
export interface TraceRow {
  readonly trace_id: string;
  readonly root_name: string | null;
  readonly service: string | null;
  readonly status: string;
  readonly start_time_ms: number;
  readonly duration_ms: number | null;
  readonly span_count: number;
  readonly error_count: number;
}

type Query = Readonly<Record<string, unknown>>;

interface TracePage {
  readonly spans: readonly { readonly trace: TraceRow }[];
  readonly cursor: string | null;
}

export async function listTraces(
  engine: Pick<Worker, "call">,
  query: Query,
): Promise<{ readonly traces: readonly TraceRow[]; readonly cursor: string | null }> {
  const { spans, cursor } = await engine.call<TracePage>({ function_id: "engine::traces::list", payload: query });
  return { traces: spans.map(({ trace }) => trace), cursor };
}

const ID_LENGTH = 32;
/** Traces of one page, and pages that are looked through for the beginning of an id. */
const LOOKED_AT = 1_000;
const MOST_PAGES = 20;
const MOST_SHOWN = 10;

/** The whole id of the one trace whose id begins so. Fails where there is none, or several. */
export async function fullTraceId(engine: Pick<Worker, "call">, prefix: string): Promise<string> {
  if (prefix.length === ID_LENGTH) return prefix;
  const matching: TraceRow[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const found: Awaited<ReturnType<typeof listTraces>> = await listTraces(engine, {
      limit: LOOKED_AT,
      include_internal: true,
      ...(cursor === null ? {} : { cursor }),
    });
    matching.push(...found.traces.filter(({ trace_id }) => trace_id.startsWith(prefix)));
    cursor = found.cursor;
    if (cursor === null || matching.length > MOST_SHOWN) break;
  }
  const [only, ...others] = matching;
  if (only === undefined)
    throw cursor === null ? traceNotKept(prefix) : new CommandFailure(`None of the latest ${MOST_PAGES * LOOKED_AT} traces begins with ${prefix}.`);
  if (others.length === 0) return only.trace_id;
  throw new CommandFailure(`Several traces begin with ${prefix}; name one by more of its id:`, {
    advice: matching
      .slice(0, MOST_SHOWN)
      .map(({ trace_id, start_time_ms, root_name }) => `  ${trace_id}  ${dayAndTime(start_time_ms)}  ${escapeUnprintable(root_name ?? "")}`),
  });
}

export function traceNotKept(id: string): CommandFailure {
  return new CommandFailure(`No trace ${id} is kept: it never was, or it had to go for newer ones.`, { advice: ["See: svc traces"] });
}
