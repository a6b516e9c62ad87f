import { plural, t } from "../labels/translate.ts";
import { post } from "./api.ts";
import type { TelemetryFile } from "./telemetry-file.ts";

export interface ImportResult {
  readonly spans: number;
  readonly entries: number;
  readonly refused: number;
  /** Reasons why parts of the file were not stored, for example `log entries failed: …`. */
  readonly problems: readonly string[];
}

interface Answer {
  readonly imported: number;
  readonly refused: number;
  /** True if the engine does not store records of this kind. `message` says why. */
  readonly disabled?: boolean;
  readonly message?: string;
}

/** Sends the content of a file to the engine, which stores it. If one part fails, the others are still sent. */
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
      if (answer.disabled === true) problems.push(t`${what} are not stored: ${answer.message ?? t`this is disabled`}`);
      return answer;
    } catch (thrown) {
      problems.push(t`${what} failed: ${(thrown as Error).message}`);
      return nothing;
    }
  };
  const spans = await send(t`spans`, "traces", "otlp_json", traces);
  const otlp = await send(t`log entries`, "logs", "otlp_json", logs);
  const exported = await send(t`log entries`, "logs", "ndjson", entries);
  return {
    spans: spans.imported,
    entries: otlp.imported + exported.imported,
    refused: spans.refused + otlp.refused + exported.refused,
    problems: [...new Set(problems)],
  };
}

/** Returns the message about an import. */
export function importText(fileName: string, { spans, entries, refused, problems }: ImportResult): string {
  const parts = [plural(spans, "# span", "# spans"), plural(entries, "# log entry", "# log entries")];
  const and = t` and `;
  const invalid = refused === 0 ? [] : [t`${refused} were not valid`];
  if (problems.length === 0) return [t`Imported ${parts.join(and)}`, ...invalid].join("; ");
  const stored = parts.filter((_, at) => [spans, entries][at] !== 0).join(and);
  const head = stored === "" ? [] : [plural(spans + entries, "{0} was imported", "{0} were imported", stored)];
  const details = [...head, ...invalid, ...problems].join("; ");
  return stored === "" ? t`${fileName} was not imported: ${details}` : `${fileName}: ${details}`;
}
