import type { ErrorCode } from "@svc-runtime/protocol";
import { type ProviderOf, takenRefusal } from "../../deliveries/function-owner.ts";
import type { LeasedJob } from "./store/job.ts";
import { subscriptionOfQueue } from "./topics/queue-name.ts";

/** Why a job must not run. */
export interface RunRefusal {
  readonly code: ErrorCode;
  /** Failure message of the dead letter. */
  readonly message: string;
  /** Reason in the log. Jobs with the same `reason` and `fields` are counted in one log line. */
  readonly reason: string;
  readonly fields: Readonly<Record<string, string>>;
}

interface Parts {
  /** Returns whether the config still has the role. Jobs whose maker has a removed role do not run. */
  readonly isRoleInForce: (role: string) => boolean;
  readonly providerOf: ProviderOf;
}

/** Returns why the engine must not run the job for its maker, or undefined if it may. */
export function runRefusalOf(
  { queue, maker, functionId, provider }: LeasedJob,
  { isRoleInForce, providerOf }: Parts,
): RunRefusal | undefined {
  const role = maker?.role;
  if (role !== undefined && !isRoleInForce(role)) {
    return {
      code: "role_removed",
      message: `the role ${role}, which made this job, or every token of it, was removed from the config, so the job was not run; it runs if a trusted caller redrives it`,
      reason: "their role was removed",
      fields: { role },
    };
  }
  const target = functionId ?? subscriptionOfQueue(queue)?.functionId;
  if (target === undefined || provider === undefined) return undefined;
  const taken = takenRefusal(target, provider, providerOf);
  if (taken === undefined) return undefined;
  return {
    code: "function_taken",
    message: `${taken.message}, so the job was not run; it runs if a trusted caller redrives it`,
    reason: "another principal provides their function now",
    fields: { provider },
  };
}
