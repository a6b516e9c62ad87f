import { post } from "./api.ts";
import type { TelemetryFile } from "./telemetry-file.ts";

export interface ImportResult {
  readonly spans: number;
  readonly entries: number;
  readonly refused: number;
  /** Why a part of the file was not stored, e.g. `log entries failed: …`. */
  readonly problems: readonly string[];
}

interface Answer {
  readonly imported: number;
  readonly refused: number;
  /** The engine does not store such records. `message` says why. */
  readonly disabled?: boolean;
  readonly message?: string;
}

/** Stores the content of a file in the engine. A part that fails does not prevent the others. */
export async function importTelemetry({ traces, logs, entries }: TelemetryFile): Promise<ImportResult> {
  const problems: string[] = [];
  const send = async (
    what: string,
    kind: "traces" | "logs",
    format: string,
    lines: readonly string[],
  ): Promise<Answer> => {
    const nothing = { imported: 0, refused: 0 };
    if (lines.length === 0) return nothing;
    const functionId = `engine::${kind}::import`;
    try {
      const answer = await post<Answer>("/api/import", { function_id: functionId, format, lines }, functionId);
      if (answer.disabled === true) problems.push(`${what} are not stored: ${answer.message ?? "this is disabled"}`);
      return answer;
    } catch (thrown) {
      problems.push(`${what} failed: ${(thrown as Error).message}`);
      return nothing;
    }
  };
  const spans = await send("spans", "traces", "otlp_json", traces);
  const otlp = await send("log entries", "logs", "otlp_json", logs);
  const exported = await send("log entries", "logs", "ndjson", entries);
  return {
    spans: spans.imported,
    entries: otlp.imported + exported.imported,
    refused: spans.refused + otlp.refused + exported.refused,
    problems: [...new Set(problems)],
  };
}

/** Returns the message about an import. */
export function importText(fileName: string, { spans, entries, refused, problems }: ImportResult): string {
  const parts = [countText(spans, "span"), countText(entries, "log entry", "log entries")];
  const invalid = refused === 0 ? [] : [`${refused.toLocaleString("en-GB")} were not valid`];
  if (problems.length === 0) return [`Imported ${parts.join(" and ")}`, ...invalid].join("; ");
  const stored = parts.filter((_, at) => [spans, entries][at] !== 0).join(" and ");
  const were = spans + entries === 1 ? "was" : "were";
  const head = stored === "" ? [] : [`${stored} ${were} imported`];
  return `${fileName}${stored === "" ? " was not imported" : ""}: ${[...head, ...invalid, ...problems].join("; ")}`;
}

function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
}
