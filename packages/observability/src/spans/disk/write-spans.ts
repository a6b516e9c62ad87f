import type { Database } from "@svc-runtime/engine/store";
import type { SpanRecord } from "../../telemetry-records.ts";
import { mayReplace } from "../span-store.ts";
import { addToFacts, durationUsOf, newFacts, type TraceFacts } from "../trace-facts.ts";
import { SPANS_PER_TRACE } from "./schema.ts";
import { readSpan, writeSpan } from "./span-json.ts";
import { indexedWords } from "./span-words.ts";
import { COLUMNS, factsOf, parametersOf, type TraceSqlRow } from "./trace-rows.ts";

const MAX_TRACE_SPANS = 200_000;
/** Maximum number of service names that a search by name can find. */
const MAX_SERVICES = 10_000;

/** Time of a write, and the duration from which traces are slow. */
export interface WriteTime {
  /** Current time, in milliseconds since 1970. */
  readonly nowMs: number;
  /** Traces of at least this duration are slow, so they are kept longer. Undefined if no trace counts as slow. */
  readonly keepSlowUs: number | undefined;
}

interface OpenTrace {
  readonly no: number;
  readonly facts: TraceFacts;
  readonly isNew: boolean;
  readonly wasInternal: boolean;
  /** Number of its spans that were counted as spans of a kept trace before this write. */
  readonly keptBefore: number;
  nextSeq: number;
}

function outlivesOthers(facts: TraceFacts, keepSlowUs: number | undefined): boolean {
  return facts.errorCount > 0 || (keepSlowUs !== undefined && (durationUsOf(facts) ?? 0) >= keepSlowUs);
}

const INTERRUPTED = "the engine stopped before this span ended";

/** Returns the procedures that write spans and update the rows of their traces. */
export function spanWriter(database: Database) {
  const findTrace = database.prepare<TraceSqlRow>(`SELECT no, ${COLUMNS} FROM traces WHERE trace_id = ?`);
  const traceRow = `INTO traces (no, ${COLUMNS}) VALUES (?, ${COLUMNS.split(",")
    .map(() => "?")
    .join(", ")})`;
  // INSERT is used for new rows. REPLACE needs a savepoint, at which FTS5 writes what it has collected: that takes five
  // times the CPU time of an INSERT.
  const addTrace = database.prepare(`INSERT ${traceRow}`);
  const replaceTrace = database.prepare(`REPLACE ${traceRow}`);
  const findSpan = database.prepare<{ readonly id: number; readonly data: string }>(
    `SELECT id, data FROM spans WHERE id / ${SPANS_PER_TRACE} = ? AND span_id = ?`,
  );
  const addSpan = database.prepare("INSERT INTO spans (id, span_id, pending, data) VALUES (?, ?, ?, ?)");
  const replaceSpan = database.prepare("REPLACE INTO spans (id, span_id, pending, data) VALUES (?, ?, ?, ?)");
  const putWords = database.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
  const dropWords = database.prepare("DELETE FROM words WHERE rowid = ?");
  const pendingSpans = database.prepare<{ readonly data: string }>("SELECT data FROM spans WHERE pending = 1 LIMIT ?");
  const totals = database.prepare<{ readonly last_no: number }>("SELECT last_no FROM totals");
  const addTotals = database.prepare(
    "UPDATE totals SET spans = spans + ?, traces = traces + ?, internal = internal + ?, kept_spans = kept_spans + ?, last_no = ?",
  );
  const addService = database.prepare("INSERT OR IGNORE INTO services (name) VALUES (?)");
  const countServices = database.prepare<{ readonly count: number }>("SELECT count(*) AS count FROM services");

  function append(texts: readonly string[], { nowMs, keepSlowUs }: WriteTime): { refused: number; foreign: number } {
    const traces = new Map<string, OpenTrace>();
    const services = new Set<string>();
    let lastNo = totals.get()?.last_no ?? 0;
    let added = 0;
    let refused = 0;
    let foreign = 0;
    for (const text of texts) {
      const span = readSpan(text);
      let trace = traces.get(span.traceId);
      if (trace === undefined) {
        trace = openTrace(span, () => {
          lastNo += 1;
          return lastNo;
        });
        traces.set(span.traceId, trace);
      }
      const before = trace.nextSeq;
      const outcome = put(trace, span, text);
      if (outcome === "full") refused += 1;
      else if (outcome === "foreign") foreign += 1;
      added += trace.nextSeq - before;
      services.add(span.resource.service);
    }
    let newTraces = 0;
    let newInternal = 0;
    let newKept = 0;
    for (const trace of traces.values()) {
      const { facts, nextSeq } = trace;
      const isKept = outlivesOthers(facts, keepSlowUs);
      (trace.isNew ? addTrace : replaceTrace).run(trace.no, ...parametersOf(facts, { nextSeq, nowMs, isKept }));
      newKept += Number(isKept) * nextSeq - trace.keptBefore;
      newTraces += Number(trace.isNew);
      newInternal += Number(trace.facts.internal) - Number(trace.wasInternal);
    }
    addTotals.run(added, newTraces, newInternal, newKept, lastNo);
    if ((countServices.get()?.count ?? 0) < MAX_SERVICES) for (const name of services) addService.run(name);
    return { refused, foreign };
  }

  function openTrace(span: SpanRecord, nextNo: () => number): OpenTrace {
    const row = findTrace.get(span.traceId);
    if (row === undefined)
      return { no: nextNo(), facts: newFacts(span), isNew: true, wasInternal: false, keptBefore: 0, nextSeq: 0 };
    const { no, next_seq: nextSeq, kept } = row;
    const facts = factsOf(row);
    return { no, facts, isNew: false, wasInternal: facts.internal, keptBefore: kept === 1 ? nextSeq : 0, nextSeq };
  }

  /**
   * Stores a span. Returns `full` if the trace has too many spans, and `foreign` if another sender's span has the same
   * ids.
   */
  function put(trace: OpenTrace, span: SpanRecord, text: string): "stored" | "full" | "foreign" {
    const stored = trace.nextSeq === 0 ? undefined : findSpan.get(trace.no, span.spanId);
    const pending = span.endUnixNano === undefined;
    if (stored === undefined) {
      if (trace.nextSeq >= MAX_TRACE_SPANS) return "full";
      addToFacts(trace.facts, span);
      write(addSpan, trace.no * SPANS_PER_TRACE + trace.nextSeq, span, text);
      trace.nextSeq += 1;
      return "stored";
    }
    const before = readSpan(stored.data);
    if (!mayReplace(span, before)) return "foreign";
    // A pending span may arrive after its end, and is ignored then. But if a restricted sender forged the end, the
    // pending span replaces it.
    if (pending && before.endUnixNano !== undefined && mayReplace(before, span)) return "stored";
    addToFacts(trace.facts, span, before);
    dropWords.run(stored.id);
    write(replaceSpan, stored.id, span, text);
    return "stored";
  }

  function write(put: typeof addSpan, id: number, span: SpanRecord, text: string): void {
    put.run(id, span.spanId, span.endUnixNano === undefined ? 1 : 0, text);
    putWords.run(id, indexedWords(span));
  }

  return {
    append,
    /** Ends spans that were pending when an earlier engine process ended. Returns true if there may be more. */
    interrupt(limit: number, time: WriteTime): boolean {
      const texts = pendingSpans.all(limit).map(({ data }) => {
        const span = readSpan(data);
        return writeSpan({ ...span, endUnixNano: span.startUnixNano, status: "error", statusDescription: INTERRUPTED });
      });
      append(texts, time);
      return texts.length === limit;
    },
  };
}
