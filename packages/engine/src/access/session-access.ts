import type { FunctionId, Message, TriggerTypeId, UndecodableFrame } from "@svc-runtime/protocol";
import { FrameQueue } from "./frame-queue.ts";
import type { Grants } from "./grants.ts";
import type { AccessPolicy } from "./policy.ts";

/**
 * Maps a worker's own name for a function or trigger type (local) to the engine's name (full) and back. The names
 * differ if the connection has a prefix, or if a hook changed the name. Messages to the worker always use the local
 * name.
 */
class LocalNames<Name extends string> {
  readonly #full = new Map<Name, Name>();
  readonly #local = new Map<Name, Name>();

  remember(local: Name, full: Name): void {
    const before = this.#local.get(full);
    if (before !== undefined) this.#full.delete(before);
    this.#full.set(local, full);
    this.#local.set(full, local);
  }

  forget(full: Name): void {
    const local = this.#local.get(full);
    this.#local.delete(full);
    // Keep the entry if the local name maps to another full name now.
    if (local !== undefined && this.#full.get(local) === full) this.#full.delete(local);
  }

  full(local: Name): Name | undefined {
    return this.#full.get(local);
  }

  local(full: Name): Name | undefined {
    return this.#local.get(full);
  }
}

/** Permissions of a restricted connection, and the names of its functions and trigger types. */
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

  /** Returns the engine's id of a function that the worker calls `local`, even if the worker has not registered it. */
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
