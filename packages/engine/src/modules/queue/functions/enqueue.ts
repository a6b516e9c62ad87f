import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { inSpan } from "../../../deliveries/trigger-span.ts";
import type { HandlerContext, ModuleContext } from "../../../kernel/module.ts";
import type { JobRequest, QueueCore } from "../queue-core.ts";
import { enqueueSpan } from "../spans.ts";
import type { AddedJob } from "../store/job.ts";
import { type JobInput, jobInput, jobsInput, publishedJobInput } from "./inputs.ts";
import { jobIdOf, jobRequestOf } from "./job-request.ts";

const addedShape = z.object({
  job_id: z.string(),
  duplicate: z.boolean().meta({
    description: "True if the dedupe key was in use. job_id is then the existing job, and nothing was stored",
  }),
});

/** Provides the functions that add jobs to queues. */
export function provideEnqueueFunctions(
  {
    provideFunction,
    rememberFunction,
    telemetry,
  }: Pick<ModuleContext<unknown>, "provideFunction" | "rememberFunction" | "telemetry">,
  core: QueueCore,
): void {
  async function add(inputs: readonly JobInput[], context: HandlerContext): Promise<readonly AddedJob[]> {
    return addInSpan(
      inputs.map((input) => jobRequestOf(input, core, context)),
      context,
    );
  }

  /** Adds the jobs within a span. The spans of the jobs' attempts become children of this span. */
  function addInSpan(
    requests: readonly JobRequest[],
    trace: Pick<HandlerContext, "caller" | "traceparent" | "baggage">,
  ): Promise<readonly AddedJob[]> {
    for (const { functionId } of requests) if (functionId !== undefined) rememberFunction(functionId, trace.caller);
    return inSpan(telemetry, enqueueSpan(requests, trace), ({ traceparent }) =>
      core.add(requests, { traceparent, baggage: trace.baggage }),
    );
  }

  provideFunction({
    id: "queue::enqueue",
    summary: "Adds a job to a queue; returns when the job is on disk",
    input: jobInput,
    rawMembers: ["data"],
    output: addedShape,
    async handle(input, context) {
      const [added] = await add([input], context);
      return { job_id: added?.id, duplicate: added?.duplicate };
    },
  });
  provideFunction({
    id: "queue::enqueue_many",
    summary: "Adds several jobs in one step, all or none",
    input: jobsInput,
    rawMembers: ["jobs[].data"],
    output: z.object({ jobs: z.array(addedShape) }),
    handle: async ({ jobs }, context) => ({
      jobs: (await add(jobs, context)).map(({ id, duplicate }) => ({ job_id: id, duplicate })),
    }),
  });
  provideFunction({
    id: "engine::queue::enqueue",
    summary: "Adds a call of a function to a queue; used by the call action `enqueue`",
    input: publishedJobInput,
    rawMembers: ["data"],
    output: z.object({ messageReceiptId: z.string() }),
    async handle({ queue, function_id, data, messageReceiptId, traceparent, baggage, options }, context) {
      // The engine makes this call for a caller, and passes the caller's trace in the input.
      const { access, caller, principal } = context;
      const origin = {
        access,
        caller,
        principal,
        traceparent: traceparent ?? context.traceparent,
        baggage: baggage ?? context.baggage,
      };
      const request = asEnqueueError(() => jobRequestOf({ ...options, queue, function_id, data }, core, origin));
      const [added] = await addInSpan(
        [{ ...request, id: messageReceiptId == null ? undefined : jobIdOf(messageReceiptId, principal) }],
        origin,
      );
      return { messageReceiptId: added?.id };
    },
  });
}

/**
 * Calls `make` and rethrows its errors with the code `enqueue_error` and unchanged messages, because clients compare
 * the code and the messages.
 */
function asEnqueueError<T>(make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    const { code, message, details } = CallError.from(thrown);
    if (code !== "queue_not_found" && code !== "invalid_input") throw thrown;
    throw new CallError("enqueue_error", message, { details: { ...details, reason: code }, cause: thrown });
  }
}
