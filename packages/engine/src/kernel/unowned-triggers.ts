import { randomUUID } from "node:crypto";
import { CallError, type Caller, type FunctionId, type TriggerId, type TriggerTypeId } from "@svc/protocol";
import { isSamePrincipal, type Principal, TRUSTED } from "./access/principal.ts";
import { Quota, type QuotaLimits } from "./access/quota.ts";
import type { Roles } from "./access/roles.ts";
import type { SessionAccess } from "./access/session-access.ts";
import { refusalToBind, refusalToSee, targetsOf } from "./access/target-refusal.ts";
import type { WatchedTargets } from "./access/watched-targets.ts";
import { withoutSvc } from "./caller-metadata.ts";
import type { Logger } from "./logger.ts";
import type { UnownedTrigger, UnownedTriggers } from "./module.ts";
import { isModule } from "./module-provider.ts";
import type { Registry } from "./registry.ts";
import type { Undo } from "./scope.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { TriggerOwner, TriggerRequest } from "./trigger-binding.ts";
import type { BindingHold, TriggerRegistry } from "./trigger-registry.ts";

/** Maximum number of them. They stay until somebody takes them back, so a restricted principal must not use them up. */
const MAX_UNOWNED: QuotaLimits = { each: 1_250, restricted: 5_000, total: 10_000 };
/** Maximum size of the config and metadata of one, as JSON in characters. */
const MAX_CHARACTERS = 1024 * 1024;
/** Maximum size of all of them. */
const MAX_CHARACTERS_OF_ALL: QuotaLimits = { each: 8 * MAX_CHARACTERS, restricted: 32 * MAX_CHARACTERS, total: 64 * MAX_CHARACTERS };

interface Held {
  readonly request: TriggerRequest;
  readonly hold: BindingHold;
  readonly madeBy: Principal;
  /** Rules for the maker's role when the trigger was made, as `Roles.rulesFor` returns them. */
  rules: readonly string[];
  readonly unwatch: Undo;
  readonly size: number;
}

/** Holds bindings in the engine's own name, so that no connection's end takes them away. */
export class EngineTriggers implements UnownedTriggers {
  readonly #triggers: TriggerRegistry;
  readonly #sessions: Sessions;
  readonly #registry: Registry;
  readonly #watchedTargets: WatchedTargets;
  readonly #roles: Roles;
  readonly #log: Logger;
  readonly #held = new Map<string, Held>();
  /** The triggers of each principal, those of its connections included. */
  readonly #triggerQuota: Quota;
  readonly #count = new Quota("triggers without an owner", MAX_UNOWNED);
  readonly #characters = new Quota("characters in the config and metadata of triggers without an owner", MAX_CHARACTERS_OF_ALL);

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

  async register({ triggerType, functionId, config, metadata }: UnownedTrigger, caller: Caller | undefined): Promise<string> {
    const session = this.#sessionOf(caller);
    const madeBy = session?.principal ?? TRUSTED;
    const size = JSON.stringify([config, metadata]).length;
    const refusal = this.#refusal(madeBy, size);
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
      // The first word decides; what comes later shows in the listings.
      const owner: TriggerOwner = {
        workerId: "engine",
        name: "",
        principal: madeBy,
        callRefusal: (id) => (session?.access === undefined ? undefined : refusalToSee(id, session.access, this.#registry)),
        notify: (_request, { status, reason, error }) => {
          if (verdict !== undefined) return;
          verdict = error === undefined && status !== "error" ? "taken" : "refused";
          if (verdict === "taken") resolve(id);
          else reject(error ?? new CallError("trigger_registration_failed", reason ?? "the trigger does not work"));
          if (verdict === "refused") this.#take(id);
        },
      };
      let verdict: "taken" | "refused" | undefined;
      const hold = this.#triggers.register(owner, request);
      const rules = madeBy.role === undefined ? [] : this.#roles.rulesFor(madeBy.role);
      this.#held.set(id, { request, hold, madeBy, rules, unwatch: this.#watch(request, session?.access), size });
      for (const quota of [this.#triggerQuota, this.#count]) quota.add(madeBy);
      this.#characters.add(madeBy, size);
      // It may have been refused while it was being registered, before there was anything to take back.
      if (verdict === "refused") this.#take(id);
    });
  }

  remove(id: string, caller: Caller | undefined): boolean {
    const session = this.#sessionOf(caller);
    const held = this.#held.get(id);
    const asker = session?.principal ?? TRUSTED;
    const isOthers = held !== undefined && !asker.isTrusted && !isSamePrincipal(held.madeBy, asker);
    if (!isOthers && this.#take(id)) return true;
    if (session?.triggers.has(id as TriggerId)) {
      session.removeTrigger(id as TriggerId);
      return true;
    }
    const binding = this.#triggers.bindingById(id);
    if (binding === undefined) return false;
    throw new CallError("FORBIDDEN", `the trigger ${id} belongs to ${binding.workerName || "another owner"}, which alone may remove it`);
  }

  /** Call after a config was applied: removes triggers of roles that are no longer in force or whose rules changed. */
  removeThoseOfChangedRoles(): void {
    for (const [id, held] of this.#held) {
      const { role } = held.madeBy;
      if (role === undefined) continue;
      const isInForce = this.#roles.isInForce(role);
      const rules = this.#roles.rulesFor(role);
      if (isInForce && held.rules.every((rule) => rules.includes(rule))) {
        // The trigger may have been made while the config that added the role was being applied.
        if (held.rules.length === 0) held.rules = rules;
        continue;
      }
      this.#take(id);
      const { type, functionId } = held.request;
      const fields = { id, type, functionId, role };
      if (isInForce) this.#log.warn("a trigger was removed, because the rules for the role that made it changed in the config", fields);
      else this.#log.warn("a trigger was removed, because the role that made it, or every token of it, was removed from the config", fields);
    }
  }

  #refusal(madeBy: Principal, size: number): CallError | undefined {
    const problem = this.#triggerQuota.problemOf(madeBy) ?? this.#count.problemOf(madeBy);
    if (problem !== undefined) return new CallError("registration_refused", `${problem}, which is the limit`);
    const tooLarge =
      size > MAX_CHARACTERS
        ? `the trigger's config and metadata have ${size} characters, and the limit is ${MAX_CHARACTERS}`
        : this.#characters.problemOf(madeBy, size);
    return tooLarge === undefined ? undefined : new CallError("payload_too_large", tooLarge);
  }

  /** Returns the caller's connection; undefined if a module or the engine calls. Throws if the connection has ended: its rights are not known any more. */
  #sessionOf(caller: Caller | undefined): Session | undefined {
    if (caller === undefined || isModule(caller.worker_id)) return undefined;
    const session = this.#sessions.byId(caller.worker_id);
    if (session === undefined) throw new CallError("call_cancelled", "the caller's connection has ended");
    return session;
  }

  /** What its maker may not bind any more goes, also when the maker has gone. */
  #watch(request: TriggerRequest, access: SessionAccess | undefined): Undo {
    if (access === undefined) return () => {};
    return this.#watchedTargets.watch(targetsOf(request), () => {
      if (refusalToBind(request, access, this.#registry) !== undefined) this.#take(request.id);
    });
  }

  #take(id: string): boolean {
    const held = this.#held.get(id);
    this.#held.delete(id);
    if (held === undefined) return false;
    held.unwatch();
    for (const quota of [this.#triggerQuota, this.#count]) quota.release(held.madeBy);
    this.#characters.release(held.madeBy, held.size);
    held.hold.remove();
    return true;
  }
}
