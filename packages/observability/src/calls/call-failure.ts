import type { CallError } from "@svc-runtime/protocol";
import type { CallResult } from "./call-stats.ts";
import { cutText } from "./payload-preview.ts";

/** Maximum lengths, in characters. */
const MAX_STACK = 16_384;
const MAX_MESSAGE = 4_096;
const MAX_DETAILS = 8_192;

/** Why a call failed, without references to the objects of the error. */
export interface CallFailure {
  readonly code: string;
  readonly message: string;
  readonly stacktrace: string | undefined;
  /** JSON. */
  readonly details: string | undefined;
}

export function resultOf(error: Pick<CallError, "code">): CallResult {
  if (error.code === "call_timeout") return "timeout";
  return error.code === "call_cancelled" ? "cancelled" : "error";
}

export function failureOf({ code, message, stacktrace, details }: CallError): CallFailure {
  return {
    code: code.slice(0, 256),
    message: message.length > MAX_MESSAGE ? cutText(message, MAX_MESSAGE) : message,
    stacktrace: stacktrace !== undefined && stacktrace.length > MAX_STACK ? cutText(stacktrace, MAX_STACK) : stacktrace,
    details: details === undefined ? undefined : detailsText(details),
  };
}

/** Returns the details as JSON. They come from handlers, so they may have any type and size. */
function detailsText(details: Readonly<Record<string, unknown>>): string | undefined {
  try {
    const text = JSON.stringify(details);
    return text.length > MAX_DETAILS ? undefined : text;
  } catch {
    return undefined;
  }
}
