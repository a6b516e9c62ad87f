import { randomUUID } from "node:crypto";
import { CallError, type Caller, type FunctionId, type TriggerId, type TriggerTypeId } from "@svc-runtime/protocol";
import { isSamePrincipal, type Principal, TRUSTED } from "../../access/principal.ts";
import { Quota, type QuotaLimits } from "../../access/quota.ts";
import type { Roles } from "../../access/roles.ts";
import type { SessionAccess } from "../../access/session-access.ts";
import { refusalToBind, refusalToSee, targetsOf } from "../../access/target-refusal.ts";
import type { WatchedTargets } from "../../access/watched-targets.ts";
import { withoutSvc } from "../call-metadata.ts";
import type { Logger } from "../logger.ts";
import type { UnownedTrigger, UnownedTriggers } from "../module.ts";
import { isModule } from "../module-provider.ts";
import type { Registry } from "../registry.ts";
import type { Undo } from "../scope.ts";
import type { Session } from "../session.ts";
import type { Sessions } from "../sessions.ts";
import type { TriggerOwner, TriggerRequest } from "./trigger-binding.ts";
import type { BindingHold, TriggerRegistry } from "./trigger-registry.ts";

/**
 * Maximum number of unowned triggers. They stay until they are removed, so restricted principals must leave some for
 * others.
 */
const MAX_UNOWNED: QuotaLimits = { each: 1_250, restricted: 5_000, total: 10_000 };
/** Maximum size of the config and metadata of one trigger, in characters of JSON. */
const MAX_CHARACTERS = 1024 * 1024;
/** Maximum size of the configs and metadata of all unowned triggers, in characters of JSON. */
const MAX_CHARACTERS_OF_ALL: QuotaLimits = {
  each: 8 * MAX_CHARACTERS,
  restricted: 32 * MAX_CHARACTERS,
  total: 64 * MAX_CHARACTERS,
};

interface Entry {
  readonly request: TriggerRequest;
  readonly hold: BindingHold;
  readonly createdBy: Principal;
  /** Rules of the creator's role when the trigger was created, as `Roles.rulesFor` returns them. */
  rules: readonly string[];
  readonly unwatch: Undo;
  readonly size: number;
}

/** Registers bindings with the engine as their owner, so that they outlive connections. */
export class EngineTriggers implements UnownedTriggers {
  readonly #triggers: TriggerRegistry;
  readonly #sessions: Sessions;
  readonly #registry: Registry;
  readonly #watchedTargets: WatchedTargets;
  readonly #roles: Roles;
  readonly #log: Logger;
  readonly #entries = new Map<string, Entry>();
  /** Counts all triggers of each principal: unowned triggers and triggers of its connections. */
  readonly #triggerQuota: Quota;
  readonly #count = new Quota("triggers without an owner", MAX_UNOWNED);
  readonly #characters = new Quota(
    "characters in the config and metadata of triggers without an owner",
    MAX_CHARACTERS_OF_ALL,
  );

  constructor(parts: {
    readonly triggers: TriggerRegistry;
    readonly sessions: Sessions;
    readonly registry: Registry;
    readonly watchedTargets: WatchedTargets;
    readonly roles: Roles;
    readonly quota: Quota;
    readonly log: Logger;
  }) {
    this.#triggerQuota = parts.quota;
    this.#triggers = parts.triggers;
    this.#sessions = parts.sessions;
    this.#registry = parts.registry;
    this.#watchedTargets = parts.watchedTargets;
    this.#roles = parts.roles;
    this.#log = parts.log;
  }

  async register(
    { triggerType, functionId, config, metadata }: UnownedTrigger,
    caller: Caller | undefined,
  ): Promise<string> {
    const session = this.#sessionOf(caller);
    const createdBy = session?.principal ?? TRUSTED;
    const size = JSON.stringify([config, metadata]).length;
    const refusal = this.#refusal(createdBy, size);
    if (refusal !== undefined) throw refusal;
    const request: TriggerRequest = {
      id: randomUUID() as TriggerId,
      type: triggerType as TriggerTypeId,
      functionId: functionId as FunctionId,
      config: config ?? null,
      metadata: withoutSvc(metadata ?? undefined),
    };
    const { id } = request;
    return new Promise((resolve, reject) => {
      // The first notification settles the promise. Later changes are visible in the lists of triggers only.
      const owner: TriggerOwner = {
        workerId: "engine",
        name: "",
        principal: createdBy,
        ignoresUnknown: session?.isPublishedClient ?? false,
        callRefusal: (id) =>
          session?.access === undefined ? undefined : refusalToSee(id, session.access, this.#registry),
        notify: (_request, { status, reason, error }) => {
          if (verdict !== undefined) return;
          verdict = error === undefined && status !== "error" ? "accepted" : "refused";
          if (verdict === "accepted") resolve(id);
          else reject(error ?? new CallError("trigger_registration_failed", reason ?? "the trigger does not work"));
          if (verdict === "refused") this.#removeEntry(id);
        },
      };
      let verdict: "accepted" | "refused" | undefined;
      const hold = this.#triggers.register(owner, request);
      const rules = createdBy.role === undefined ? [] : this.#roles.rulesFor(createdBy.role);
      this.#entries.set(id, { request, hold, createdBy, rules, unwatch: this.#watch(request, session?.access), size });
      for (const quota of [this.#triggerQuota, this.#count]) quota.add(createdBy);
      this.#characters.add(createdBy, size);
      // The trigger may have been refused during `register`, before there was an entry to remove.
      if (verdict === "refused") this.#removeEntry(id);
    });
  }

  remove(id: string, caller: Caller | undefined): boolean {
    const session = this.#sessionOf(caller);
    const entry = this.#entries.get(id);
    const asker = session?.principal ?? TRUSTED;
    const isOthers = entry !== undefined && !asker.isTrusted && !isSamePrincipal(entry.createdBy, asker);
    if (!isOthers && this.#removeEntry(id)) return true;
    if (session?.triggers.has(id as TriggerId)) {
      session.removeTrigger(id as TriggerId);
      return true;
    }
    const binding = this.#triggers.bindingById(id);
    if (binding === undefined) return false;
    throw new CallError(
      "FORBIDDEN",
      `the trigger ${id} belongs to ${binding.workerName || "another owner"}, which alone may remove it`,
    );
  }

  /** Removes triggers of roles that are no longer active or whose rules changed. Call it after a config was applied. */
  removeTriggersOfChangedRoles(): void {
    for (const [id, entry] of this.#entries) {
      const { role } = entry.createdBy;
      if (role === undefined) continue;
      const isInForce = this.#roles.isInForce(role);
      const rules = this.#roles.rulesFor(role);
      if (isInForce && entry.rules.every((rule) => rules.includes(rule))) {
        // A trigger without rules was created while the config that added the role was being applied. Set its rules
        // now.
        if (entry.rules.length === 0) entry.rules = rules;
        continue;
      }
      this.#removeEntry(id);
      const { type, functionId } = entry.request;
      const fields = { id, type, functionId, role };
      if (isInForce)
        this.#log.warn(
          "a trigger was removed, because the rules for the role that made it changed in the config",
          fields,
        );
      else
        this.#log.warn(
          "a trigger was removed, because the role that made it, or every token of it, was removed from the config",
          fields,
        );
    }
  }

  #refusal(createdBy: Principal, size: number): CallError | undefined {
    const problem = this.#triggerQuota.problemOf(createdBy) ?? this.#count.problemOf(createdBy);
    if (problem !== undefined) return new CallError("registration_refused", `${problem}, which is the limit`);
    const tooLarge =
      size > MAX_CHARACTERS
        ? `the trigger's config and metadata have ${size} characters, and the limit is ${MAX_CHARACTERS}`
        : this.#characters.problemOf(createdBy, size);
    return tooLarge === undefined ? undefined : new CallError("payload_too_large", tooLarge);
  }

  /**
   * Returns the caller's session; undefined if the caller is a module or the engine. Throws if the connection has
   * ended, because its rights are not known any more.
   */
  #sessionOf(caller: Caller | undefined): Session | undefined {
    if (caller === undefined || isModule(caller.worker_id)) return undefined;
    const session = this.#sessions.byId(caller.worker_id);
    if (session === undefined) throw new CallError("call_cancelled", "the caller's connection has ended");
    return session;
  }

  /** Removes the trigger when its creator may no longer bind it, even if the creator has disconnected before. */
  #watch(request: TriggerRequest, access: SessionAccess | undefined): Undo {
    if (access === undefined) return () => {};
    return this.#watchedTargets.watch(targetsOf(request), () => {
      if (refusalToBind(request, access, this.#registry) !== undefined) this.#removeEntry(request.id);
    });
  }

  #removeEntry(id: string): boolean {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry === undefined) return false;
    entry.unwatch();
    for (const quota of [this.#triggerQuota, this.#count]) quota.release(entry.createdBy);
    this.#characters.release(entry.createdBy, entry.size);
    entry.hold.remove();
    return true;
  }
}
