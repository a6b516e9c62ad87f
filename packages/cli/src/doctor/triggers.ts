import type { Worker } from "@svc-runtime/sdk";
import { listTriggers } from "../engine/listings.ts";
import { conditionOf } from "../functions/trigger-condition.ts";
import type { Finding } from "./finding.ts";

/**
 * Returns a warning for each trigger with a problem, with the reason. If no trigger has one, returns a single finding
 * with the status `ok`. Returns no findings if there are no triggers.
 */
export async function triggerFindings(engine: Worker): Promise<readonly Finding[]> {
  const triggers = await listTriggers(engine);
  const findings = triggers
    // Only a trigger with a problem has a reason. A paused schedule has none.
    .filter(({ reason }) => reason !== null)
    .map(({ trigger_type, config, function_id, status, reason }) => ({
      check: `trigger ${trigger_type} ${conditionOf(trigger_type, config)} → ${function_id}`,
      status: "warning" as const,
      message: `${status}: ${reason}`,
      remedy: "Correct it where the worker registers it. All triggers: svc triggers",
    }));
  if (findings.length > 0 || triggers.length === 0) return findings;
  return [{ check: "triggers", status: "ok", message: `${triggers.length} listed, none with a problem` }];
}
