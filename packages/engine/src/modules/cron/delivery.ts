import { CallError, Payload } from "@svc-runtime/protocol";
import { DeliveryAttempt } from "../../deliveries/call-failure.ts";
import { addTrigger } from "../../deliveries/trigger-span.ts";
import type { ModuleContext, TriggerBinding } from "../../kernel/module.ts";
import type { CronSettings } from "./settings.ts";
import type { Outcome, Run } from "./store/rows.ts";

export const ENQUEUE = "engine::queue::enqueue";
const MAX_ERROR_CHARACTERS = 2_000;

/** How a run ended. */
export interface Delivered {
  /** `refused`: the function was not called, because the engine or the worker is shutting down. */
  readonly outcome: Outcome | "refused";
  readonly error: string | null;
  /** The function's result, if it was called. */
  readonly result: Payload | undefined;
}

export interface Delivery {
  readonly jobId: string;
  readonly binding: TriggerBinding<CronSettings>;
  readonly run: Run;
  readonly signal: AbortSignal;
}

/** Checks the condition, then calls the function or adds a job for it to the queue, in a span. Never rejects. */
export async function deliver(
  context: Pick<ModuleContext<unknown>, "call" | "clock" | "telemetry" | "rememberFunction">,
  delivery: Delivery,
): Promise<Delivered> {
  const { binding, run } = delivery;
  const span = context.telemetry.startSpan({
    name: `cron ${binding.functionId}`,
    kind: "internal",
    attributes: addTrigger(
      {
        "svc.cron.schedule": binding.settings.expression,
        "svc.cron.scheduled_time": new Date(run.scheduledAt).toISOString(),
        "svc.cron.manual": run.manual,
      },
      "cron",
      { type: "cron", id: binding.id },
    ),
  });
  const delivered = await deliverIn(span.traceparent, context, delivery);
  span.setAttribute("svc.cron.outcome", delivered.outcome);
  span.end({
    error:
      delivered.outcome === "error" || delivered.outcome === "refused"
        ? (delivered.error ?? delivered.outcome)
        : undefined,
  });
  return delivered;
}

async function deliverIn(
  traceparent: string | undefined,
  context: Pick<ModuleContext<unknown>, "call" | "clock" | "rememberFunction">,
  { jobId, binding, run, signal }: Delivery,
): Promise<Delivered> {
  const { settings, functionId } = binding;
  const data = payloadOf(binding.id, run, context.clock.now());
  const attempt = new DeliveryAttempt();
  const payload = Payload.fromValue(data);
  try {
    if (!(await binding.passes(payload, attempt.callOptions({ signal, traceparent }))))
      return ended("skipped", `${settings.conditionFunctionId} returned false`);
  } catch (thrown) {
    return failed(thrown, attempt, `the condition ${settings.conditionFunctionId} failed: `);
  }
  if (settings.queue === undefined) {
    try {
      return {
        outcome: "ok",
        error: null,
        result: await binding.fire(payload, attempt.callOptions({ signal, traceparent })),
      };
    } catch (thrown) {
      return failed(thrown, attempt, "");
    }
  }
  // Checked again, because the function may have got another provider while the condition ran.
  const refusal = binding.deferRefusal();
  if (refusal !== undefined) return ended("error", problemOf(refusal));
  const options = { dedupe_key: `cron:${jobId}:${run.manual ? `manual-${run.seq}-` : ""}${data.scheduled_time}` };
  if (binding.principal.isTrusted) context.rememberFunction(functionId);
  try {
    await context.call(ENQUEUE, Payload.fromValue({ queue: settings.queue, function_id: functionId, data, options }), {
      signal,
      traceparent,
      onBehalfOf: binding.principal,
    });
    return ended("enqueued", null);
  } catch (thrown) {
    // The queue rejects jobs during its shutdown.
    const isRefused = CallError.is(thrown) && thrown.code === "draining";
    return ended(isRefused ? "refused" : "error", problemOf(thrown));
  }
}

/** Returns the function's input. Times are in RFC 3339, UTC. */
function payloadOf(triggerId: string, run: Run, now: number) {
  return {
    trigger: "cron",
    job_id: triggerId,
    scheduled_time: new Date(run.scheduledAt).toISOString(),
    actual_time: new Date(now).toISOString(),
    ...(run.manual ? { manual: true } : {}),
  };
}

function failed(thrown: unknown, attempt: DeliveryAttempt, context: string): Delivered {
  const error = CallError.from(thrown);
  const isRefused = error.code === "draining" && attempt.failureOf(error) === "unavailable";
  return ended(isRefused ? "refused" : "error", context + problemOf(error));
}

function problemOf(thrown: unknown): string {
  const { code, message } = CallError.from(thrown);
  return `${code}: ${message}`.slice(0, MAX_ERROR_CHARACTERS);
}

function ended(outcome: Delivered["outcome"], error: string | null): Delivered {
  return { outcome, error, result: undefined };
}
