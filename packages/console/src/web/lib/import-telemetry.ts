import { post } from "./api.ts";
import type { TelemetryFile } from "./telemetry-file.ts";

export interface ImportResult {
  readonly spans: number;
  readonly entries: number;
  readonly refused: number;
}

/** Stores the content of a file in the engine. Rejects with ApiFailure. */
export async function importTelemetry({ traces, logs, entries }: TelemetryFile): Promise<ImportResult> {
  const spans = await send("engine::traces::import", "otlp_json", traces);
  const otlp = await send("engine::logs::import", "otlp_json", logs);
  const exported = await send("engine::logs::import", "ndjson", entries);
  return {
    spans: spans.imported,
    entries: otlp.imported + exported.imported,
    refused: spans.refused + otlp.refused + exported.refused,
  };
}

async function send(
  functionId: string,
  format: string,
  lines: readonly string[],
): Promise<{ readonly imported: number; readonly refused: number }> {
  if (lines.length === 0) return { imported: 0, refused: 0 };
  return post("/api/import", { function_id: functionId, format, lines }, functionId);
}
