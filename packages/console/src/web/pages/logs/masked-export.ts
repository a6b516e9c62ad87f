import { formatJson, type JsonValue, parseJson } from "../../lib/json.ts";
import { maskedBody, maskedEntry, maskedValues } from "./masked-entry.ts";

type Values = Readonly<Record<string, JsonValue>>;
const CELL = /"(?:[^"]|"")*"/g;

/**
 * Masks secrets in an export of the engine, in the same way as the page masks entries. It works in chunks, so that a
 * large export does not block the page.
 */
export async function maskedExport(lines: Blob, format: "ndjson" | "csv"): Promise<Blob> {
  const masked: string[] = [];
  let rest = "";
  const reader = lines.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const records = recordsOf(rest + chunk.value, format);
    rest = records.pop() ?? "";
    masked.push(records.map((record) => `${maskedRecord(record, format)}\n`).join(""));
  }
  if (rest !== "") masked.push(maskedRecord(rest, format));
  return new Blob(masked, { type: lines.type });
}

/** Splits a text into records. In CSV, a line end between quotes does not end a record. */
function recordsOf(text: string, format: "ndjson" | "csv"): string[] {
  const lines = text.split("\n");
  if (format === "ndjson") return lines;
  const records: string[] = [];
  let open: string[] = [];
  let isQuoted = false;
  for (const line of lines) {
    open.push(line);
    if ((line.split('"').length - 1) % 2 === 1) isQuoted = !isQuoted;
    if (isQuoted) continue;
    records.push(open.join("\n"));
    open = [];
  }
  return isQuoted ? [...records, open.join("\n")] : records;
}

function maskedRecord(record: string, format: "ndjson" | "csv"): string {
  if (record === "") return record;
  if (format === "csv") return record.replace(CELL, maskedCell);
  const entry = parseJson(record) as Values;
  return formatJson(maskedEntry(entry), 0);
}

/**
 * Masks a CSV cell. Attributes and some messages are JSON. The engine writes an apostrophe before a value that a
 * spreadsheet would run as a formula.
 */
function maskedCell(cell: string): string {
  const text = cell.slice(1, -1).replaceAll('""', '"');
  const guard = /^'(?=\s)/.exec(text)?.[0] ?? "";
  const body = text.slice(guard.length);
  const shown = maskedCellText(body);
  return shown === body ? cell : `"${(guard + shown).replaceAll('"', '""')}"`;
}

function maskedCellText(text: string): string {
  if (!/^\s*\{/.test(text)) return maskedBody(text);
  let values: JsonValue;
  try {
    values = parseJson(text);
  } catch {
    return maskedBody(text);
  }
  const masked = maskedValues(values as Values);
  return formatJson(masked, 0) === formatJson(values, 0) ? text : formatJson(masked, 0);
}
