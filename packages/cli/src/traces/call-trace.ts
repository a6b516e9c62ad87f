import { setTimeout as after } from "node:timers/promises";
import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import type { Shell } from "../shell.ts";
import { sayNote } from "../terminal/notes.ts";
import { drawTrace } from "./draw-trace.ts";
import { type Spans, spansOf } from "./traces.ts";

/**
 * Maximum time to wait for spans, in milliseconds. The wait is needed because workers send their spans shortly after
 * the call.
 */
const MAX_WAIT_MS = 2_000;
const POLL_INTERVAL_MS = 100;
/** A trace is considered complete if no span arrives for this time, in milliseconds. */
const SETTLED_MS = 400;

type Caller = Pick<Worker, "id" | "call" | "connectionState">;

/**
 * Prints the trace of a call that was made over this connection, on standard error. If the trace is not available,
 * prints a note and does not fail, because the result of the call does not depend on it.
 */
export async function printTraceOfCall(shell: Shell, engine: Caller, functionId: string): Promise<void> {
  try {
    await printTrace(shell, engine, functionId);
  } catch (error) {
    if (!CallError.is(error)) throw error;
    sayNote(shell, `cannot show the trace of this call: ${error.message}`);
  }
}

async function printTrace(shell: Shell, engine: Caller, functionId: string): Promise<void> {
  if (engine.connectionState !== "connected") {
    sayNote(shell, "cannot show the trace of this call: the engine is not connected.");
    return;
  }
  const traceId = await traceOfCall(engine, functionId);
  const spans = traceId === undefined ? undefined : await settledSpans(engine, traceId);
  if (traceId === undefined || spans === undefined || spans.total === 0) {
    sayNote(
      shell,
      "this call has no stored trace. Calls of built-in functions from the CLI are not recorded, and sampling drops some calls.",
    );
    return;
  }
  shell.note(`\n${drawTrace(traceId, spans, { columns: shell.noteColumns, paint: shell.paint })}`);
}

/**
 * Returns the trace id of the call. Filters by caller, because other clients may have called the function meanwhile.
 */
async function traceOfCall(engine: Caller, functionId: string): Promise<string | undefined> {
  const payload = { caller: engine.id, function_id: functionId, include_internal: true, limit: 1 };
  const { invocations } = await engine.call<{ readonly invocations: readonly { readonly trace_id: string }[] }>({
    function_id: "engine::invocations::list",
    payload,
  });
  return invocations[0]?.trace_id;
}

async function settledSpans(engine: Caller, traceId: string): Promise<Spans> {
  const startedMs = performance.now();
  let seen = await spansOf(engine, traceId);
  let changedMs = startedMs;
  while (performance.now() - startedMs < MAX_WAIT_MS && performance.now() - changedMs < SETTLED_MS) {
    await after(POLL_INTERVAL_MS);
    const now = await spansOf(engine, traceId);
    if (stateOf(now) !== stateOf(seen)) changedMs = performance.now();
    seen = now;
  }
  return seen;
}

function stateOf({ spans, total }: Spans): string {
  return `${total} ${spans.filter(({ end_time_unix_nano_text: end }) => end === null).length}`;
}
