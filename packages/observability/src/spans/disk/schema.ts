/**
 * Number of span ids that are reserved for each trace. The word index stores only span ids. The trace's number is the
 * span id divided by this value.
 */
export const SPANS_PER_TRACE = 1_048_576;

export const schema: readonly string[] = [
  // Times are in microseconds since 1970. `duration_us` is -1 while the trace is pending.
  `CREATE TABLE traces (
     no INTEGER PRIMARY KEY,
     trace_id TEXT NOT NULL UNIQUE,
     root_span_id TEXT NOT NULL,
     partial INTEGER NOT NULL,
     root_start_us INTEGER NOT NULL,
     root_name TEXT NOT NULL,
     root_lower TEXT NOT NULL,
     service TEXT NOT NULL,
     services TEXT NOT NULL,
     internal INTEGER NOT NULL,
     trigger_type TEXT,
     function_id TEXT,
     function_start_us INTEGER NOT NULL,
     status TEXT NOT NULL,
     start_us INTEGER NOT NULL,
     end_us INTEGER NOT NULL,
     duration_us INTEGER NOT NULL,
     span_count INTEGER NOT NULL,
     error_count INTEGER NOT NULL,
     pending_count INTEGER NOT NULL,
     next_seq INTEGER NOT NULL,
     updated_ms INTEGER NOT NULL
   );
   CREATE INDEX traces_start ON traces (start_us, no);
   -- Covers the columns that most lists filter by, so that many queries need not read the rows.
   CREATE INDEX traces_duration ON traces (duration_us, no, start_us, internal);
   CREATE INDEX traces_name ON traces (root_lower, no);
   CREATE INDEX traces_spans ON traces (span_count, no);
   CREATE INDEX traces_status ON traces (status, no, start_us, internal) WHERE status <> 'ok';
   CREATE INDEX traces_updated ON traces (updated_ms, no);
   CREATE TABLE spans (
     id INTEGER PRIMARY KEY,
     span_id TEXT NOT NULL,
     pending INTEGER NOT NULL,
     data TEXT NOT NULL
   );
   CREATE UNIQUE INDEX spans_span ON spans (id / ${SPANS_PER_TRACE}, span_id);
   CREATE INDEX spans_pending ON spans (id) WHERE pending = 1;
   CREATE VIRTUAL TABLE words USING fts5 (text, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
   CREATE TABLE services (name TEXT PRIMARY KEY) WITHOUT ROWID;
   CREATE TABLE totals (spans INTEGER NOT NULL, traces INTEGER NOT NULL, internal INTEGER NOT NULL, last_no INTEGER NOT NULL);
   INSERT INTO totals VALUES (0, 0, 0, 0)`,
  // Existing traces get only the function that their row has. Their spans may name more, but reading all spans would
  // delay the start.
  `ALTER TABLE traces ADD COLUMN functions TEXT NOT NULL DEFAULT '[]';
   UPDATE traces SET functions = json_array(function_id) WHERE function_id IS NOT NULL`,
  // Failed and slow traces are stored longer than others. Existing slow traces are not marked, because only failed ones
  // can be found by an index.
  `ALTER TABLE traces ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE totals ADD COLUMN kept_spans INTEGER NOT NULL DEFAULT 0;
   UPDATE traces SET kept = 1 WHERE error_count > 0 AND status <> 'ok';
   UPDATE totals SET kept_spans = (SELECT coalesce(sum(span_count), 0) FROM traces WHERE error_count > 0 AND status <> 'ok');
   DROP INDEX traces_updated;
   CREATE INDEX traces_kept ON traces (kept, updated_ms, no)`,
  // The status and duration of existing traces remain those of all their spans, because their root spans are not read.
  `ALTER TABLE traces ADD COLUMN root_end_us INTEGER;
   ALTER TABLE traces ADD COLUMN root_status TEXT NOT NULL DEFAULT 'unset';
   ALTER TABLE traces ADD COLUMN error_ends TEXT NOT NULL DEFAULT '[]';
   UPDATE traces SET root_end_us = end_us WHERE pending_count = 0;
   UPDATE traces SET root_status = 'error' WHERE status = 'error';
   CREATE INDEX traces_errors ON traces (no, start_us, internal) WHERE error_count > 0`,
];
