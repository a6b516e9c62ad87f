import type { FunctionId, Message, TriggerTypeId, UndecodableFrame } from "@svc/protocol";
import { FrameLine } from "./frame-line.ts";
import type { Grants } from "./grants.ts";
import { LocalNames } from "./local-names.ts";
import type { AccessPolicy } from "./policy.ts";

/** What a restricted connection may do, and how the engine calls what it registered. */
export class SessionAccess {
  readonly grants: Grants;
  readonly policy: AccessPolicy;
  readonly functions = new LocalNames<FunctionId>();
  readonly triggerTypes = new LocalNames<TriggerTypeId>();
  readonly line = new FrameLine<Message | UndecodableFrame>();

  constructor(grants: Grants, policy: AccessPolicy) {
    this.grants = grants;
    this.policy = policy;
  }

  /** The id under which the engine has, or would have, a function that the worker calls `local`. */
  fullFunctionId(local: FunctionId): FunctionId {
    return this.functions.full(local) ?? this.withPrefix(local);
  }

  withPrefix(local: FunctionId): FunctionId {
    const { prefix } = this.grants;
    return prefix === undefined ? local : (`${prefix}::${local}` as FunctionId);
  }

  /** The worker's own word for a function. Without a registration of its own by that id, the id without the prefix. */
  localFunctionId(full: FunctionId): FunctionId {
    const known = this.functions.local(full);
    if (known !== undefined) return known;
    const { prefix } = this.grants;
    return prefix !== undefined && full.startsWith(`${prefix}::`) ? (full.slice(prefix.length + 2) as FunctionId) : full;
  }

  fullTriggerTypeId(local: TriggerTypeId): TriggerTypeId {
    return this.triggerTypes.full(local) ?? local;
  }

  localTriggerTypeId(full: TriggerTypeId): TriggerTypeId {
    return this.triggerTypes.local(full) ?? full;
  }
}
