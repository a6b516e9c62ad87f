import { parseJson } from "../../../lib/json.ts";

export type Mode = "sync" | "void" | "enqueue";

/** What the editor holds for one function. All as typed. */
export interface Draft {
  /** JSON text. */
  readonly payload: string;
  readonly mode: Mode;
  readonly timeoutMs: string;
  readonly queue: string;
  /** JSON text; empty: none. */
  readonly metadata: string;
}

export const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 86_400_000;

export const EMPTY_DRAFT: Draft = { payload: "{}", mode: "sync", timeoutMs: "", queue: "default", metadata: "" };

/** Why the draft cannot be sent at all; undefined when it can. */
export function draftProblem({ payload, timeoutMs, mode, queue, metadata }: Draft): string | undefined {
  const payloadProblem = jsonProblem(payload);
  if (payloadProblem !== undefined) return `The payload is not JSON: ${payloadProblem}`;
  if (timeoutMs !== "" && !(/^\d+$/.test(timeoutMs) && Number(timeoutMs) >= 1 && Number(timeoutMs) <= MAX_TIMEOUT_MS)) {
    return `The timeout is a number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`;
  }
  if (mode === "enqueue" && queue.trim() === "") return "Name the queue";
  const metadataProblem = metadata.trim() === "" ? undefined : jsonProblem(metadata);
  return metadataProblem === undefined ? undefined : `The metadata is not JSON: ${metadataProblem}`;
}

function jsonProblem(text: string): string | undefined {
  // What the engine will do with it; it also takes what the console's own parser would stumble over, e.g. a name twice.
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

/** The body of `POST /_console/invoke`: the payload goes as it was typed, to the digit. */
export function invokeBody(functionId: string, { payload, mode, timeoutMs, queue, metadata }: Draft): string {
  const members = [`"function_id":${JSON.stringify(functionId)}`, `"payload":${payload.trim()}`];
  if (mode !== "sync") members.push(`"mode":${JSON.stringify(mode)}`);
  if (mode === "enqueue") members.push(`"queue":${JSON.stringify(queue.trim())}`);
  if (timeoutMs !== "") members.push(`"timeout_ms":${timeoutMs}`);
  if (metadata.trim() !== "") members.push(`"metadata":${metadata.trim()}`);
  return `{${members.join(",")}}`;
}
