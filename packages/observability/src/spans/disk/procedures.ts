import type { Database } from "@svc-runtime/engine/store";
import { type ProcedureTable, read, write } from "@svc-runtime/engine/store/procedures";
import type { TraceListRequest } from "../trace-query.ts";
import { SPANS_PER_TRACE } from "./schema.ts";
import { traceSelector } from "./select-traces.ts";
import { type TallyRequest, traceTally } from "./tally-traces.ts";
import { traceTrimmer } from "./trim-traces.ts";
import { spanWriter, type WriteTime } from "./write-spans.ts";

export { schema } from "./schema.ts";

/** Procedures of the span store. Spans are passed as JSON (see span-json.ts). */
export function openProcedures(database: Database) {
  const writer = spanWriter(database);
  const trimmer = traceTrimmer(database);
  const selector = traceSelector(database);
  const tally = traceTally(database);
  const numberOf = database.prepare<{ readonly no: number }>("SELECT no FROM traces WHERE trace_id = ?");
  const spansOf = database.prepare<{ readonly data: string }>(
    "SELECT data FROM spans WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
  );
  const oneSpan = database.prepare<{ readonly data: string }>(
    `SELECT data FROM spans WHERE id / ${SPANS_PER_TRACE} = ? AND span_id = ?`,
  );
  const totals = database.prepare<{ readonly spans: number }>("SELECT spans FROM totals");
  const oldest = database.prepare<{ readonly start_us: number }>(
    "SELECT start_us FROM traces ORDER BY start_us LIMIT 1",
  );

  return {
    append: write(({ spans, ...time }: WriteTime & { readonly spans: readonly string[] }) =>
      writer.append(spans, time),
    ),
    interrupt: write(({ limit, ...time }: WriteTime & { readonly limit: number }) => writer.interrupt(limit, time)),
    trim: write(trimmer.trim),
    list: read((request: TraceListRequest) => selector.list(request)),
    tally: read((request: TallyRequest) => tally(request)),
    spansOf: read(({ traceId, limit }: { readonly traceId: string; readonly limit: number }): string[] => {
      const no = numberOf.get(traceId)?.no;
      if (no === undefined) return [];
      return spansOf.all(no * SPANS_PER_TRACE, (no + 1) * SPANS_PER_TRACE - 1, limit).map(({ data }) => data);
    }),
    span: read(({ traceId, spanId }: { readonly traceId: string; readonly spanId: string }): string | undefined => {
      const no = numberOf.get(traceId)?.no;
      return no === undefined ? undefined : oneSpan.get(no, spanId)?.data;
    }),
    stats: read((_: null) => ({
      spans: totals.get()?.spans ?? 0,
      usedBytes: trimmer.usedBytes(),
      fileBytes: trimmer.fileBytes(),
      oldestUs: oldest.get()?.start_us,
    })),
  } satisfies ProcedureTable;
}

export type SpanProcedures = ReturnType<typeof openProcedures>;
