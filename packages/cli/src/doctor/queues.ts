import type { Worker } from "@svc-runtime/sdk";
import { LIST_QUEUES, listQueues } from "../queues/queues.ts";
import type { Finding } from "./finding.ts";

/** Returns a finding for each reason why jobs of a queue cannot run. None if the engine does not run svc-queue. */
export async function queueFindings(engine: Worker): Promise<readonly Finding[]> {
  // Check first whether the function exists, because a call of a missing function would count as an error of the
  // engine.
  const { functions } = await engine.call<{ readonly functions: readonly unknown[] }>({
    function_id: "engine::functions::list",
    payload: { prefix: LIST_QUEUES, include_internal: true, limit: 1 },
  });
  if (functions.length === 0) return [];
  const queues = await listQueues(engine);
  return queues.flatMap(({ queue, waiting_reasons = [] }) =>
    waiting_reasons.map((reason) => ({
      check: `queue ${queue}`,
      status: "warning" as const,
      message: `jobs wait: ${reason}`,
      remedy: `Start the worker that provides it, or look at the jobs: svc queue peek ${queue}`,
    })),
  );
}
