import { t } from "../../../labels/translate.ts";
import { parseJson } from "../../../lib/json.ts";

export type Mode = "sync" | "void" | "enqueue";

/** Contents of the editor for a function, as the user typed them. */
export interface Draft {
  /** Payload as JSON text. */
  readonly payload: string;
  readonly mode: Mode;
  readonly timeoutMs: string;
  readonly queue: string;
  /** Metadata as JSON text. Empty if there is none. */
  readonly metadata: string;
}

export const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 86_400_000;

export const EMPTY_DRAFT: Draft = { payload: "{}", mode: "sync", timeoutMs: "", queue: "default", metadata: "" };

/** Returns why the draft cannot be sent. Returns undefined if it can. */
export function draftProblem({ payload, timeoutMs, mode, queue, metadata }: Draft): string | undefined {
  const payloadProblem = jsonProblem(payload);
  if (payloadProblem !== undefined) return t`The payload is not JSON: ${payloadProblem}`;
  if (timeoutMs !== "" && !(/^\d+$/.test(timeoutMs) && Number(timeoutMs) >= 1 && Number(timeoutMs) <= MAX_TIMEOUT_MS)) {
    return t`The timeout must be a whole number from 1 to ${MAX_TIMEOUT_MS} ms`;
  }
  if (mode === "enqueue" && queue.trim() === "") return t`Queue is required`;
  const metadataProblem = metadata.trim() === "" ? undefined : jsonProblem(metadata);
  return metadataProblem === undefined ? undefined : t`The metadata is not JSON: ${metadataProblem}`;
}

function jsonProblem(text: string): string | undefined {
  // JSON.parse is used because the engine uses it too. It accepts more than the console's own parser, for example
  // duplicate names.
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    try {
      parseJson(text);
    } catch (better) {
      return (better as Error).message;
    }
    return (error as Error).message;
  }
}

/**
 * Returns the body of `POST /_console/invoke`. The payload is inserted as it was typed, so that numbers keep all their
 * digits.
 */
export function invokeBody(functionId: string, { payload, mode, timeoutMs, queue, metadata }: Draft): string {
  const members = [`"function_id":${JSON.stringify(functionId)}`, `"payload":${payload.trim()}`];
  if (mode !== "sync") members.push(`"mode":${JSON.stringify(mode)}`);
  if (mode === "enqueue") members.push(`"queue":${JSON.stringify(queue.trim())}`);
  if (timeoutMs !== "") members.push(`"timeout_ms":${timeoutMs}`);
  if (metadata.trim() !== "") members.push(`"metadata":${metadata.trim()}`);
  return `{${members.join(",")}}`;
}
