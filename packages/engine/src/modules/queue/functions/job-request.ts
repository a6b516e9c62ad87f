import { createHash } from "node:crypto";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { CallerAccess, HandlerContext, Principal } from "../../../kernel/module.ts";
import type { JobRequest, QueueCore } from "../queue-core.ts";
import type { QueueSettings } from "../queue-settings.ts";
import type { Maker } from "../store/job.ts";
import { isQueueOfTopic } from "../topics/queue-name.ts";
import type { JobInput } from "./inputs.ts";

type Origin = Pick<HandlerContext, "access" | "principal">;

/** Maximum length of a group's name. A longer one is replaced by its hash. */
const MAX_GROUP = 256;

/**
 * Returns the request for the core. Throws CallError in three cases: `queue_not_found`; `invalid_input` if a job of a
 * fifo queue has no group; `FORBIDDEN` if the caller may not add the job.
 */
export function jobRequestOf(
  input: JobInput,
  core: Pick<QueueCore, "settingsOf">,
  { access, principal }: Origin,
): JobRequest {
  const { queue, function_id: functionId, data = Payload.null, run_at: runAt } = input;
  const settings = core.settingsOf(queue);
  if (settings === undefined)
    throw new CallError("queue_not_found", `Queue '${queue}' not found`, { details: { queue } });
  refuseUncallable(functionId, access);
  if (access !== undefined && isQueueOfTopic(queue)) {
    throw new CallError(
      "FORBIDDEN",
      "a restricted connection may not add jobs to the queue of a subscription; publish to its topic instead",
      {
        details: { queue },
      },
    );
  }
  return {
    queue,
    functionId: functionId ?? undefined,
    data,
    delayMs: input.delay_ms ?? undefined,
    runAt: runAt == null ? undefined : typeof runAt === "number" ? runAt : Date.parse(runAt),
    priority: input.priority ?? undefined,
    group: input.group ?? groupIn(data, queue, settings),
    dedupeKey: input.dedupe_key ?? undefined,
    expiresInMs: input.expires_in_ms ?? undefined,
    maxAttempts: input.max_attempts ?? undefined,
    maker: makerIn(principal),
  };
}

export function makerIn({ id, isTrusted, role }: Principal): Maker | undefined {
  return isTrusted ? undefined : { principal: id, role };
}

/**
 * Returns the id for a job whose caller chose an id. Job ids are unique over all queues. The id that a restricted
 * principal chose is hashed together with the principal's id, so that no principal can take an id that another
 * principal will use.
 */
export function jobIdOf(chosen: string, { id, isTrusted }: Principal): string {
  if (isTrusted) return chosen;
  const hash = createHash("sha256")
    .update(JSON.stringify([id, chosen]))
    .digest("hex");
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * A job runs with the rights of the engine, so a restricted caller may only add jobs for functions that it may call.
 * The job must name its function, because the caller does not choose the functions of a queue's triggers. Throws
 * CallError `FORBIDDEN`.
 */
function refuseUncallable(functionId: string | null | undefined, access: CallerAccess | undefined): void {
  if (access === undefined) return;
  if (functionId == null)
    throw new CallError("FORBIDDEN", "a job of a restricted connection must name its function (function_id)");
  const refusal = access.deferRefusal(functionId);
  if (refusal !== undefined) throw refusal;
}

/**
 * Returns the check of `refuseUncallable` for dead letters that the caller redrives. The core calls it with each of
 * their functions. Returns undefined if the caller is not restricted.
 */
export function mayRun(access: CallerAccess | undefined): ((functionId: string | undefined) => void) | undefined {
  return access && ((functionId) => refuseUncallable(functionId, access));
}

/**
 * Returns the group that the data of a fifo job names; undefined for other queues. Throws CallError `invalid_input`.
 * Keep the messages unchanged, because clients compare them.
 */
function groupIn(data: Payload, queue: string, { type, groupField }: QueueSettings): string | undefined {
  if (type !== "fifo" || groupField === undefined) return undefined;
  const value = data.value();
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, groupField)) {
    throw new CallError(
      "invalid_input",
      `FIFO queue '${queue}' requires field '${groupField}' in data, but it was not found`,
      {
        details: { queue, field: groupField },
      },
    );
  }
  const group = (value as Readonly<Record<string, unknown>>)[groupField];
  if (group === null)
    throw new CallError("invalid_input", `FIFO queue '${queue}': field '${groupField}' must not be null`, {
      details: { queue, field: groupField },
    });
  const name = typeof group === "string" ? group : JSON.stringify(group);
  return name.length <= MAX_GROUP ? name : `sha256:${createHash("sha256").update(name).digest("hex")}`;
}
