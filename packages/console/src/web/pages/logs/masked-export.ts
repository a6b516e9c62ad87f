import { formatJson, type JsonValue, parseJson } from "../../lib/json.ts";
import { maskedBody, maskedEntry, maskedValues } from "./masked-entry.ts";

type Values = Readonly<Record<string, JsonValue>>;
const CELL = /"(?:[^"]|"")*"/g;

/** An export of the engine's with what the page shows masked. In pieces, so that a large one does not hold up the page. */
export async function maskedExport(lines: Blob, format: "ndjson" | "csv"): Promise<Blob> {
  const masked: string[] = [];
  let rest = "";
  const reader = lines.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const records = recordsOf(rest + piece.value, format);
    rest = records.pop() ?? "";
    masked.push(records.map((record) => `${maskedRecord(record, format)}\n`).join(""));
  }
  if (rest !== "") masked.push(maskedRecord(rest, format));
  return new Blob(masked, { type: lines.type });
}

/** What stands between the ends of lines; in CSV, one within quotes ends nothing. */
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

/** The cells that hold JSON are the message, where it is JSON, and the attributes. The engine puts an apostrophe before what a spreadsheet would run. */
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
