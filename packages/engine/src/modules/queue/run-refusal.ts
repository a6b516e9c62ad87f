import type { ErrorCode } from "@svc/protocol";
import { type ProviderOf, takenRefusal } from "../../deliveries/function-owner.ts";
import type { TakenJob } from "./store/job.ts";
import { subscriptionOfQueue } from "./topics/queue-name.ts";

/** Why a job must not run. */
export interface RunRefusal {
  readonly code: ErrorCode;
  /** For its dead letter. */
  readonly message: string;
  /** For the log, which counts the jobs with the same `fields`. */
  readonly reason: string;
  readonly fields: Readonly<Record<string, string>>;
}

interface Parts {
  /** Jobs of other roles do not run any more. */
  readonly isRoleInForce: (role: string) => boolean;
  readonly providerOf: ProviderOf;
}

/** Returns why the engine must not run the job for its maker, or undefined if it may. */
export function runRefusalOf({ queue, maker, functionId, provider }: TakenJob, { isRoleInForce, providerOf }: Parts): RunRefusal | undefined {
  const role = maker?.role;
  if (role !== undefined && !isRoleInForce(role)) {
    return {
      code: "role_removed",
      message: `the role ${role}, which made this job, or every token of it, was removed from the config, so the job was not run; redriven by a trusted caller, it runs`,
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
    message: `${taken.message}, so the job was not run; redriven by a trusted caller, it runs`,
    reason: "their function belongs to another now",
    fields: { provider },
  };
}
