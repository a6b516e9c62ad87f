import { setTimeout as after } from "node:timers/promises";
import { CallError } from "@svc/protocol";
import type { Worker } from "@svc/sdk";
import { sayNote } from "./remarks.ts";
import type { Shell } from "./shell.ts";
import { drawTrace } from "./trace-drawing.ts";
import { type Spans, spansOf } from "./traces.ts";

/** Workers send the spans of their own a little after the call; what came by then is shown. */
const LONGEST_WAIT_MS = 2_000;
const LOOK_EVERY_MS = 100;
/** A trace counts as complete when nothing came for so long. */
const SETTLED_MS = 400;

type Caller = Pick<Worker, "id" | "call" | "connectionState">;

/** Prints the trace of the call that this connection made, on standard error. Where it cannot be had, that is a note: what became of the call counts. */
export async function printTraceOfCall(shell: Shell, engine: Caller, functionId: string): Promise<void> {
  try {
    await printTrace(shell, engine, functionId);
  } catch (error) {
    if (!CallError.is(error)) throw error;
    sayNote(shell, `the trace of this call cannot be shown: ${error.message}`);
  }
}

async function printTrace(shell: Shell, engine: Caller, functionId: string): Promise<void> {
  if (engine.connectionState !== "connected") {
    sayNote(shell, "the engine is away, and the trace of this call with it.");
    return;
  }
  const traceId = await traceOfCall(engine, functionId);
  const spans = traceId === undefined ? undefined : await settledSpans(engine, traceId);
  if (traceId === undefined || spans === undefined || spans.total === 0) {
    sayNote(shell, "no trace of this call was kept. Calls of built-in functions made from here are not recorded, nor what sampling leaves out.");
    return;
  }
  shell.note(`\n${drawTrace(traceId, spans, { columns: shell.noteColumns, paint: shell.paint })}`);
}

/** By who called: the function may have been called by others meanwhile. */
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
  while (performance.now() - startedMs < LONGEST_WAIT_MS && performance.now() - changedMs < SETTLED_MS) {
    await after(LOOK_EVERY_MS);
    const now = await spansOf(engine, traceId);
    if (stateOf(now) !== stateOf(seen)) changedMs = performance.now();
    seen = now;
  }
  return seen;
}

function stateOf({ spans, total }: Spans): string {
  return `${total} ${spans.filter(({ end_time_unix_nano_text: end }) => end === null).length}`;
}
