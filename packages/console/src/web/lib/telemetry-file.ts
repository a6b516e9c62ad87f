import { t } from "../labels/translate.ts";
/** Resource attribute with the name of the file from which spans and log entries were imported. */
export const IMPORT_ATTRIBUTE = "import.file";
/** Maximum size of a file. The engine stores as much of it as its own limits allow. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Lines for the engine's import functions. */
export interface TelemetryFile {
  readonly traces: readonly string[];
  readonly logs: readonly string[];
  /** Log entries, in the format in which the Logs page exports them. */
  readonly entries: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Parses a file: OTLP JSON (one document, or one per line) or exported log entries. Adds the file's name to all
 * records. Throws Error if the file contains anything else.
 */
export function parseTelemetry(text: string, fileName: string): TelemetryFile {
  const documents = documentsOf(text);
  const traces: string[] = [];
  const logs: string[] = [];
  const entries: string[] = [];
  for (const [at, document] of documents.entries()) {
    const { resourceSpans, resourceLogs } = document;
    if (Array.isArray(resourceSpans))
      traces.push(JSON.stringify({ resourceSpans: resourceSpans.map((each) => marked(each, fileName)) }));
    if (Array.isArray(resourceLogs))
      logs.push(JSON.stringify({ resourceLogs: resourceLogs.map((each) => marked(each, fileName)) }));
    if (resourceSpans !== undefined || resourceLogs !== undefined) continue;
    if (typeof document.body !== "string" || document.severity_text === undefined)
      throw new Error(
        t`line ${String(at + 1)} is neither OTLP JSON (resourceSpans, resourceLogs) nor an exported log entry`,
      );
    entries.push(
      JSON.stringify({ ...document, resource: { ...asJson(document.resource), [IMPORT_ATTRIBUTE]: fileName } }),
    );
  }
  if (documents.length === 0) throw new Error(t`the file is empty`);
  return { traces, logs, entries };
}

function documentsOf(text: string): readonly Json[] {
  const whole = parsed(text);
  if (whole !== undefined) return (Array.isArray(whole) ? whole : [whole]).map(asJson);
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, at) => {
      const document = parsed(line);
      if (document === undefined) throw new Error(t`line ${String(at + 1)} is not JSON`);
      return asJson(document);
    });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asJson(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function marked(group: unknown, fileName: string): Json {
  const { resource, ...rest } = asJson(group);
  const { attributes, ...others } = asJson(resource);
  const mark = { key: IMPORT_ATTRIBUTE, value: { stringValue: fileName } };
  return { ...rest, resource: { ...others, attributes: [...(Array.isArray(attributes) ? attributes : []), mark] } };
}
