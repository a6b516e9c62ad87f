import type { Database } from "@svc-runtime/engine/store";
import { type Procedure, Refusal, read, write } from "@svc-runtime/engine/store/procedures";
import { conditionsOf } from "./log-conditions.ts";
import { logSelector } from "./log-filter.ts";
import { entryOf, indexedText, type LogRow, rowBytes } from "./log-row.ts";
import type { LogOrder, LogPosition, PageRequest, PageSlice, TallyRequest, TallySlice } from "./log-store.ts";
import { positionOf, Tally } from "./log-tally.ts";
import type { StoredLog } from "./stored-log.ts";

/** These procedures run in the store's thread. */
export const schema: readonly string[] = [
  `CREATE TABLE logs (
     id INTEGER PRIMARY KEY, arrived_ms INTEGER NOT NULL, time_ms INTEGER NOT NULL, time_rest INTEGER NOT NULL, severity INTEGER NOT NULL,
     service TEXT NOT NULL, worker TEXT NOT NULL, worker_id TEXT, function_id TEXT, trace_id TEXT, span_id TEXT, rest TEXT NOT NULL
   );
   CREATE INDEX logs_time ON logs (time_ms, time_rest, id);
   CREATE INDEX logs_service ON logs (service, time_ms, time_rest, id);
   CREATE INDEX logs_trace ON logs (trace_id, time_ms, time_rest, id) WHERE trace_id IS NOT NULL;
   CREATE INDEX logs_function ON logs (function_id, time_ms, time_rest, id) WHERE function_id IS NOT NULL;
   CREATE TABLE sources (service TEXT PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
   CREATE VIRTUAL TABLE logs_text USING fts5(text, content='', tokenize='trigram', detail=none, columnsize=0)`,
];

export interface LogFileStats {
  readonly stored: number;
  readonly oldestMs: number | undefined;
  readonly lastId: number;
  /** Size of the file without its free pages. */
  readonly bytes: number;
  readonly fileBytes: number;
}

export interface TrimRequest {
  readonly maxBytes: number;
  /** Entries that arrived earlier are removed. */
  readonly oldestMs: number;
  readonly rows: number;
}

export interface LogProcedures {
  readonly [name: string]: Procedure<never, unknown>;
  readonly append: Procedure<readonly LogRow[], void>;
  readonly page: Procedure<PageRequest, PageSlice>;
  readonly tally: Procedure<TallyRequest, TallySlice>;
  readonly get: Procedure<number, StoredLog | undefined>;
  /** Removes entries. Returns true if there may be more to remove. */
  readonly trim: Procedure<TrimRequest, boolean>;
  readonly clear: Procedure<undefined, void>;
  readonly stats: Procedure<undefined, LogFileStats>;
}

export function openProcedures(database: Database): LogProcedures {
  const insert = database.prepare(
    `INSERT OR IGNORE INTO logs (id, arrived_ms, time_ms, time_rest, severity, service, worker, worker_id, function_id, trace_id, span_id, rest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertText = database.prepare("INSERT INTO logs_text (rowid, text) VALUES (?, ?)");
  const removeText = database.prepare("INSERT INTO logs_text (logs_text, rowid, text) VALUES ('delete', ?, ?)");
  const countSource = database.prepare(
    "INSERT INTO sources VALUES (?, ?, ?) ON CONFLICT (service) DO UPDATE SET count = count + excluded.count, bytes = bytes + excluded.bytes",
  );
  const removeSources = database.prepare("DELETE FROM sources WHERE count <= 0");
  const largestSource = database.prepare<{ service: string; bytes: number; all_bytes: number; sources: number }>(
    "SELECT service, bytes, (SELECT SUM(bytes) FROM sources) AS all_bytes, (SELECT COUNT(*) FROM sources) AS sources FROM sources ORDER BY bytes DESC LIMIT 1",
  );
  const byId = database.prepare<LogRow>("SELECT * FROM logs WHERE id = ?");
  const remove = database.prepare("DELETE FROM logs WHERE id = ?");

  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
  const pageSize = pragma("page_size");
  const usedBytes = (): number => (pragma("page_count") - pragma("freelist_count")) * pageSize;

  const removeAll = (rows: readonly LogRow[]): void => {
    const sources = new Map<string, { count: number; bytes: number }>();
    for (const row of rows) {
      removeText.run(row.id, indexedText(entryOf(row)));
      remove.run(row.id);
      addToSource(sources, row, -1);
    }
    for (const [service, { count, bytes }] of sources) countSource.run(service, count, bytes);
    removeSources.run();
  };

  const scan = (request: {
    readonly after: LogPosition | undefined;
    readonly order: LogOrder;
    readonly rows: number;
    readonly filter: PageRequest["filter"];
  }) => {
    const { where, parameters, isExact } = conditionsOf(request.filter);
    const direction = request.order === "asc" ? "ASC" : "DESC";
    const compare = request.order === "asc" ? ">" : "<";
    const behind = request.after === undefined ? undefined : positionParameters(request.after);
    const sql = `SELECT * FROM logs WHERE ${where}${behind === undefined ? "" : ` AND (time_ms, time_rest, id) ${compare} (?, ?, ?)`}
      ORDER BY time_ms ${direction}, time_rest ${direction}, id ${direction} LIMIT ?`;
    const seen = database
      .prepare<LogRow>(sql)
      .all(...parameters, ...(behind ?? []), request.rows)
      .map(entryOf);
    const matching = isExact
      ? seen
      : logSelector(request.filter, (message) => new Refusal("invalid_input", message))(seen);
    const last = seen[seen.length - 1];
    return { matching, next: seen.length < request.rows || last === undefined ? undefined : positionOf(last), isExact };
  };

  return {
    append: write((rows) => {
      const sources = new Map<string, { count: number; bytes: number }>();
      for (const row of rows) {
        const { changes } = insert.run(
          ...[row.id, row.arrived_ms, row.time_ms, row.time_rest, row.severity, row.service, row.worker, row.worker_id],
          ...[row.function_id, row.trace_id, row.span_id, row.rest],
        );
        if (changes === 0) continue;
        insertText.run(row.id, indexedText(entryOf(row)));
        addToSource(sources, row, 1);
      }
      for (const [service, { count, bytes }] of sources) countSource.run(service, count, bytes);
    }),
    page: read((request) => {
      // Reads one row more than the limit, which shows whether there is another page. If the SQL is exact, no further
      // rows are needed.
      const rows = conditionsOf(request.filter).isExact ? Math.min(request.rows, request.limit + 1) : request.rows;
      const { matching, next } = scan({ ...request, rows });
      if (matching.length <= request.limit) return { entries: matching, next };
      const entries = matching.slice(0, request.limit);
      return { entries, next: positionOf(entries[entries.length - 1] as StoredLog) };
    }),
    tally: read((request) => {
      const tally = new Tally(request);
      const { where, parameters, isExact } = conditionsOf(request.filter);
      if (isExact && request.facets.length === 0 && request.histogram === undefined) {
        const row = database
          .prepare<{ total: number; first: number | null; last: number | null }>(
            `SELECT COUNT(*) AS total, MIN(time_ms) AS first, MAX(time_ms) AS last FROM logs WHERE ${where}`,
          )
          .get(...parameters);
        return {
          ...tally.slice(undefined),
          total: row?.total ?? 0,
          firstMs: row?.first ?? undefined,
          lastMs: row?.last ?? undefined,
        };
      }
      const { matching, next } = scan({ ...request, order: "asc" });
      for (const entry of matching) tally.add(entry);
      return tally.slice(next);
    }),
    get: read((id) => {
      const row = byId.get(id);
      return row === undefined ? undefined : entryOf(row);
    }),
    trim: write(({ maxBytes, oldestMs, rows }) => {
      // The rows are in order of arrival, so the search ends at the first entry that is recent enough.
      const first = database.prepare<LogRow>("SELECT * FROM logs ORDER BY id LIMIT ?").all(rows);
      const young = first.findIndex((row) => row.arrived_ms >= oldestMs);
      const old = young < 0 ? first : first.slice(0, young);
      if (old.length > 0) {
        removeAll(old);
        return true;
      }
      if (usedBytes() <= maxBytes) return false;
      const largest = largestSource.get();
      // If one source has more than half of the total size, its entries are removed first.
      const isDominant = largest !== undefined && largest.sources > 1 && largest.bytes * 2 > largest.all_bytes;
      const oldest = isDominant
        ? database
            .prepare<LogRow>("SELECT * FROM logs WHERE service = ? ORDER BY time_ms, time_rest, id LIMIT ?")
            .all(largest.service, rows)
        : database.prepare<LogRow>("SELECT * FROM logs ORDER BY time_ms, time_rest, id LIMIT ?").all(rows);
      removeAll(oldest);
      database.exec("INSERT INTO logs_text (logs_text, rank) VALUES ('merge', 500)");
      return oldest.length > 0;
    }),
    clear: write(() => {
      database.exec("DELETE FROM logs; DELETE FROM sources; INSERT INTO logs_text (logs_text) VALUES ('delete-all')");
    }),
    stats: read(() => {
      const row = database
        .prepare<{ stored: number; oldest: number | null; last: number | null }>(
          "SELECT (SELECT SUM(count) FROM sources) AS stored, (SELECT MIN(time_ms) FROM logs) AS oldest, (SELECT MAX(id) FROM logs) AS last",
        )
        .get();
      return {
        stored: row?.stored ?? 0,
        oldestMs: row?.oldest ?? undefined,
        lastId: row?.last ?? 0,
        bytes: usedBytes(),
        fileBytes: pragma("page_count") * pageSize,
      };
    }),
  };
}

function positionParameters({ timeUnixNano, id }: LogPosition): [number, number, number] {
  return [Number(timeUnixNano / 1_000_000n), Number(timeUnixNano % 1_000_000n), id];
}

function addToSource(sources: Map<string, { count: number; bytes: number }>, row: LogRow, sign: 1 | -1): void {
  const source = sources.get(row.service) ?? { count: 0, bytes: 0 };
  source.count += sign;
  source.bytes += sign * rowBytes(row);
  sources.set(row.service, source);
}
