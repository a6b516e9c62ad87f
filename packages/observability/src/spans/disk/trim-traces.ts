import type { Database } from "@svc-runtime/engine/store";
import { SPANS_PER_TRACE } from "./schema.ts";

/** Maximum number of pages that one step returns to the file system. */
const VACUUM_PAGES = 512;
/** Number of free pages that are kept for new data. */
const SPARE_PAGES = 1_024;

/**
 * Share of the spans that is reserved for failed and slow traces. Up to this share, they are stored longer than others.
 */
const RESERVED_SHARE = 0.25;

/** Removes the least recently written traces in small steps. Failed and slow traces are removed later than others. */
export function traceTrimmer(database: Database) {
  const oldest = database.prepare<{
    readonly no: number;
    readonly next_seq: number;
    readonly span_count: number;
    readonly internal: number;
    readonly updated_ms: number;
    readonly kept: number;
  }>(
    "SELECT no, next_seq, span_count, internal, updated_ms, kept FROM traces WHERE kept = ? ORDER BY updated_ms, no LIMIT 1",
  );
  const totals = database.prepare<{ readonly spans: number; readonly kept_spans: number }>(
    "SELECT spans, kept_spans FROM totals",
  );
  const dropTrace = database.prepare("DELETE FROM traces WHERE no = ?");
  const dropSpans = database.prepare("DELETE FROM spans WHERE id BETWEEN ? AND ?");
  const dropWords = database.prepare("DELETE FROM words WHERE rowid BETWEEN ? AND ?");
  const shrink = database.prepare("UPDATE traces SET next_seq = ? WHERE no = ?");
  const addTotals = database.prepare(
    "UPDATE totals SET spans = spans - ?, traces = traces - ?, internal = internal - ?, kept_spans = kept_spans - ?",
  );
  const pragma = (name: string): number =>
    Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
  const pageSize = pragma("page_size");
  const usedBytes = (): number => (pragma("page_count") - pragma("freelist_count")) * pageSize;

  /** Returns the trace to remove next. Returns undefined if nothing must be removed. */
  function surplus(beforeMs: number, maxBytes: number) {
    const [other, kept] = [oldest.get(0), oldest.get(1)];
    const first = other === undefined || (kept !== undefined && kept.updated_ms < other.updated_ms) ? kept : other;
    if (first === undefined || first.updated_ms < beforeMs) return first;
    if (usedBytes() <= maxBytes) return undefined;
    const { spans, kept_spans } = totals.get() ?? { spans: 0, kept_spans: 0 };
    return kept !== undefined && kept_spans > RESERVED_SHARE * spans ? kept : (other ?? kept);
  }

  /**
   * Removes up to `maxSpans` spans that are older than `beforeMs` or over `maxBytes`. Returns true if another step may
   * be needed.
   */
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
      const trace = surplus(beforeMs, maxBytes);
      if (trace === undefined) {
        shrinkFile();
        return { removed, more: false };
      }
      // A trace with very many spans is removed in several steps. Each step removes its last spans; the last step also
      // removes its row.
      const from = Math.max(0, trace.next_seq - (maxSpans - removed));
      const first = trace.no * SPANS_PER_TRACE + from;
      const last = trace.no * SPANS_PER_TRACE + trace.next_seq;
      dropWords.run(first, last);
      const { changes } = dropSpans.run(first, last);
      removed += Math.max(1, changes);
      const isWhole = from === 0;
      if (isWhole) dropTrace.run(trace.no);
      else shrink.run(from, trace.no);
      addTotals.run(changes, isWhole ? 1 : 0, isWhole ? trace.internal : 0, trace.kept === 1 ? changes : 0);
    }
    shrinkFile();
    return { removed, more: true };
  }

  function shrinkFile(): void {
    if (pragma("freelist_count") > SPARE_PAGES) database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }

  return { trim, usedBytes, fileBytes: () => pragma("page_count") * pageSize };
}
