import { encodeLogs } from "../otlp/encode.ts";
import type { LogFilter } from "./log-filter.ts";
import { logJson, type RedactAttributes, redactRecord } from "./log-json.ts";
import type { LogQueries } from "./log-queries.ts";
import type { LogOrder, LogPosition } from "./log-store.ts";
import type { StoredLog } from "./stored-log.ts";

export type LogFormat = "ndjson" | "csv" | "otlp_json";

const PAGE_ENTRIES = 500;
const CSV_COLUMNS = [
  "timestamp",
  "severity_text",
  "service_name",
  "body",
  "trace_id",
  "span_id",
  "attributes",
  "resource",
  "id",
] as const;
const NANOS_PER_MS = 1_000_000n;

/** Yields all matches as lines in the format. In OTLP/JSON, one line is a request with up to 500 entries. */
export async function* logLines(
  queries: LogQueries,
  request: {
    readonly filter: LogFilter;
    readonly order: LogOrder;
    readonly format: LogFormat;
    readonly redact: RedactAttributes;
  },
): AsyncGenerator<string> {
  const { filter, order, format, redact } = request;
  if (format === "csv") yield CSV_COLUMNS.join(",");
  let after: LogPosition | undefined;
  do {
    const page = await queries.page({ filter, order, limit: PAGE_ENTRIES, after });
    if (format === "otlp_json" && page.entries.length > 0)
      yield JSON.stringify(encodeLogs(page.entries.map((entry) => redactRecord(entry.log, redact))));
    else if (format === "ndjson") for (const entry of page.entries) yield JSON.stringify(logJson(entry, redact));
    else if (format === "csv") for (const entry of page.entries) yield csvLine(entry, redact);
    after = page.next;
  } while (after !== undefined);
}

function csvLine(entry: StoredLog, redact: RedactAttributes): string {
  const json = logJson(entry, redact);
  const cells: Readonly<Record<(typeof CSV_COLUMNS)[number], string>> = {
    timestamp: isoNanos(entry.log.timeUnixNano),
    severity_text: json.severity_text,
    service_name: json.service_name,
    body: json.body,
    trace_id: json.trace_id ?? "",
    span_id: json.span_id ?? "",
    attributes: JSON.stringify(json.attributes),
    resource: JSON.stringify(json.resource),
    id: json.id,
  };
  return CSV_COLUMNS.map((column) => csvCell(cells[column])).join(",");
}

/**
 * Quotes a CSV cell. An apostrophe prevents spreadsheets from evaluating it as a formula (= + - @, tab, line break).
 */
export function csvCell(text: string): string {
  const safe = /^[^\p{L}\p{N}"'([{<]*[=+\-@\uff0b\uff0d\uff1d\uff20]|^\s/u.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

/** Formats a time as ISO 8601 with nine fractional digits. */
function isoNanos(timeUnixNano: bigint): string {
  const seconds = new Date(Number(timeUnixNano / NANOS_PER_MS)).toISOString().slice(0, -".000Z".length);
  return `${seconds}.${String(timeUnixNano % 1_000_000_000n).padStart(9, "0")}Z`;
}
