import type { Database } from "@svc-runtime/engine/store";
import { SPANS_PER_TRACE } from "./schema.ts";

/** Maximum number of pages returned to the file system in one step. */
const VACUUM_PAGES = 512;
/** Free pages that stay for new data. */
const SPARE_PAGES = 1_024;

/** Removes the least recently written traces in small steps. */
export function traceTrimmer(database: Database) {
  const oldest = database.prepare<{
    readonly no: number;
    readonly next_seq: number;
    readonly span_count: number;
    readonly internal: number;
    readonly updated_ms: number;
  }>("SELECT no, next_seq, span_count, internal, updated_ms FROM traces ORDER BY updated_ms, no LIMIT 1");
  const dropTrace = database.prepare("DELETE FROM traces WHERE no = ?");
  const dropSpans = database.prepare("DELETE FROM spans WHERE id BETWEEN ? AND ?");
  const dropWords = database.prepare("DELETE FROM words WHERE rowid BETWEEN ? AND ?");
  const shrink = database.prepare("UPDATE traces SET next_seq = ? WHERE no = ?");
  const addTotals = database.prepare(
    "UPDATE totals SET spans = spans - ?, traces = traces - ?, internal = internal - ?",
  );
  const pragma = (name: string): number =>
    Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
  const pageSize = pragma("page_size");
  const usedBytes = (): number => (pragma("page_count") - pragma("freelist_count")) * pageSize;

  /** Removes up to `maxSpans` spans older than `beforeMs` or over `maxBytes`. Returns if another step may be needed. */
  function trim({
    beforeMs,
    maxBytes,
    maxSpans,
  }: {
    readonly beforeMs: number;
    readonly maxBytes: number;
    readonly maxSpans: number;
  }) {
    let removed = 0;
    while (removed < maxSpans) {
      const trace = oldest.get();
      if (trace === undefined || (trace.updated_ms >= beforeMs && usedBytes() <= maxBytes)) {
        shrinkFile();
        return { removed, more: false };
      }
      // A trace with very many spans is removed from its end in several steps, its row last.
      const from = Math.max(0, trace.next_seq - (maxSpans - removed));
      const first = trace.no * SPANS_PER_TRACE + from;
      const last = trace.no * SPANS_PER_TRACE + trace.next_seq;
      dropWords.run(first, last);
      const { changes } = dropSpans.run(first, last);
      removed += Math.max(1, changes);
      const isWhole = from === 0;
      if (isWhole) dropTrace.run(trace.no);
      else shrink.run(from, trace.no);
      addTotals.run(changes, isWhole ? 1 : 0, isWhole ? trace.internal : 0);
    }
    shrinkFile();
    return { removed, more: true };
  }

  function shrinkFile(): void {
    if (pragma("freelist_count") > SPARE_PAGES) database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }

  return { trim, usedBytes, fileBytes: () => pragma("page_count") * pageSize };
}
