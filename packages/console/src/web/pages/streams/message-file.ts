import type { TappedMessage, TapTotals } from "@svc-runtime/protocol/listings";
import { z } from "zod/mini";
import { t } from "../../labels/translate.ts";
import { maskedText } from "../../lib/secrets.ts";
import type { MonitorRow } from "./message.ts";

/** Maximum length of an imported file, in characters. */
const MAX_FILE = 64 * 1024 * 1024;

const messageSchema = z.object({
  direction: z.enum(["inbound", "outbound"]),
  timestamp: z.number(),
  connection_id: z.string(),
  stream: z.nullable(z.string()),
  group: z.nullable(z.string()),
  type: z.string(),
  bytes: z.number(),
  payload: z.string(),
  truncated: z.boolean(),
});

/** Returns the totals that the engine would report for these messages. */
export function totalsOf(messages: readonly TappedMessage[]): TapTotals {
  const of = (wanted: TappedMessage["direction"]): readonly TappedMessage[] =>
    messages.filter(({ direction }) => direction === wanted);
  const bytesOf = (some: readonly TappedMessage[]): number => some.reduce((sum, { bytes }) => sum + bytes, 0);
  const [inbound, outbound] = [of("inbound"), of("outbound")];
  return {
    inbound: inbound.length,
    outbound: outbound.length,
    inbound_bytes: bytesOf(inbound),
    outbound_bytes: bytesOf(outbound),
  };
}

/** Formats the messages of the rows, the oldest first. Secrets are masked. */
export function exportText(rows: readonly MonitorRow[], format: "ndjson" | "json"): string {
  const messages = rows
    .filter((row) => row.kind === "message")
    .map(({ kind: _kind, id: _id, seq: _seq, ...message }) => ({ ...message, payload: maskedText(message.payload, 0) }))
    .reverse();
  return format === "json"
    ? JSON.stringify(messages, undefined, 2)
    : messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}

/**
 * Parses a text that `exportText` returned, in either format. The number of invalid messages is `refused`. Throws Error
 * if no message is valid.
 */
export function importText(text: string): { readonly messages: readonly TappedMessage[]; readonly refused: number } {
  if (text.length > MAX_FILE) throw new Error(t`the file is larger than ${MAX_FILE / 1024 / 1024} MiB`);
  const values: unknown[] = text.trimStart().startsWith("[")
    ? (JSON.parse(text) as unknown[])
    : text
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map(jsonOf);
  const read = values.map((value) => messageSchema.safeParse(value));
  const messages = read.flatMap((each) => (each.success ? [each.data] : []));
  if (messages.length === 0)
    throw new Error(t`the file contains no messages; expected a JSON array or NDJSON exported from this page`);
  return { messages, refused: read.length - messages.length };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
