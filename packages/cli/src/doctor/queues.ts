import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { listQueues, type QueueCounts } from "../queues.ts";
import type { Finding } from "./finding.ts";

/** Returns a finding for each reason why jobs of a queue cannot run. None if the engine does not run svc-queue. */
export async function queueFindings(engine: Worker): Promise<readonly Finding[]> {
  let queues: readonly QueueCounts[];
  try {
    queues = await listQueues(engine);
  } catch (error) {
    if (CallError.is(error) && error.code === "function_not_found") return [];
    throw error;
  }
  return queues.flatMap(({ queue, waiting_reasons = [] }) =>
    waiting_reasons.map((reason) => ({
      check: `queue ${queue}`,
      status: "warning" as const,
      message: `jobs wait: ${reason}`,
      remedy: `Start the worker that provides it, or look at the jobs: svc queue peek ${queue}`,
    })),
  );
}
