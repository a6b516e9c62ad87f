import { t } from "../../../labels/translate.ts";
import type { Run } from "./invoke-store.ts";

/** Outcome of a call as shown to the user. */
export interface Outcome {
  readonly kind: "running" | "ok" | "accepted" | "enqueued" | "error" | "cancelled" | "unreachable";
  readonly title: string;
  readonly error?: CallFailure;
  /** Result as JSON text. */
  readonly result?: string;
}

export interface CallFailure {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly stack: string | undefined;
}

/**
 * Returns the outcome of a call. Only the HTTP status says whether the call succeeded. The result does not, because 0,
 * false, null and "" are valid results.
 */
export function outcomeOf(run: Run): Outcome {
  if (run.state === "running") return { kind: "running", title: t`Running` };
  if (run.state === "cancelled") return { kind: "cancelled", title: t`Cancelled` };
  if (run.answer === undefined) {
    const failure = run.failure;
    const code =
      failure !== undefined && "code" in failure && typeof failure.code === "string" ? failure.code : "network";
    return {
      kind: "unreachable",
      title: t`No response`,
      error: { code, message: failure?.message ?? "", details: undefined, stack: undefined },
    };
  }
  const { status, text } = run.answer;
  if (status === 202) return { kind: "accepted", title: t`Sent` };
  if (status >= 200 && status < 300) {
    return run.draft.mode === "enqueue"
      ? { kind: "enqueued", title: t`Enqueued`, result: text }
      : { kind: "ok", title: t`OK`, result: text };
  }
  return { kind: "error", title: t`Error`, error: failureIn(text, status) };
}

function failureIn(text: string, status: number): CallFailure {
  try {
    const { error } = JSON.parse(text) as {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly details?: Readonly<Record<string, unknown>>;
      };
    };
    const stack = error.details?.stacktrace ?? error.details?.stack;
    return {
      code: String(error.code),
      message: String(error.message),
      details: error.details,
      stack: typeof stack === "string" ? stack : undefined,
    };
  } catch {
    // The response does not come from the engine, but for example from a proxy.
    return { code: `HTTP ${status}`, message: text.slice(0, 2_000), details: undefined, stack: undefined };
  }
}
