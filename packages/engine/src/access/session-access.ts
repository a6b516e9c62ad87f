import type { FunctionId, Message, TriggerTypeId, UndecodableFrame } from "@svc/protocol";
import { FrameQueue } from "./frame-queue.ts";
import type { Grants } from "./grants.ts";
import { LocalNames } from "./local-names.ts";
import type { AccessPolicy } from "./policy.ts";

/** Permissions of a restricted connection, and the engine's names of what it registered. */
export class SessionAccess {
  readonly grants: Grants;
  readonly policy: AccessPolicy;
  readonly functions = new LocalNames<FunctionId>();
  readonly triggerTypes = new LocalNames<TriggerTypeId>();
  readonly frames = new FrameQueue<Message | UndecodableFrame>();

  constructor(grants: Grants, policy: AccessPolicy) {
    this.grants = grants;
    this.policy = policy;
  }

  /** Returns the engine's id of a function that the worker calls `local`, registered or not. */
  fullFunctionId(local: FunctionId): FunctionId {
    return this.functions.full(local) ?? this.withPrefix(local);
  }

  withPrefix(local: FunctionId): FunctionId {
    const { prefix } = this.grants;
    return prefix === undefined ? local : (`${prefix}::${local}` as FunctionId);
  }

  /**
   * Returns the worker's own name of a function. If the worker has not registered it, this is the id without the
   * prefix.
   */
  localFunctionId(full: FunctionId): FunctionId {
    const known = this.functions.local(full);
    if (known !== undefined) return known;
    const { prefix } = this.grants;
    return prefix !== undefined && full.startsWith(`${prefix}::`)
      ? (full.slice(prefix.length + 2) as FunctionId)
      : full;
  }

  fullTriggerTypeId(local: TriggerTypeId): TriggerTypeId {
    return this.triggerTypes.full(local) ?? local;
  }

  localTriggerTypeId(full: TriggerTypeId): TriggerTypeId {
    return this.triggerTypes.local(full) ?? full;
  }
}
