import { isDeepStrictEqual } from "node:util";
import type { Principal, TriggerBinding } from "../../../kernel/module.ts";
import type { RoutePattern } from "./route-pattern.ts";
import type { RouteMethod, RouteSettings } from "./route-settings.ts";
import type { TreeEntry } from "./route-tree.ts";

export type RouteBinding = TriggerBinding<RouteSettings>;

/** A binding with its parsed path. */
export interface RouteHolder {
  readonly binding: RouteBinding;
  readonly pattern: RoutePattern;
  readonly method: RouteMethod;
  /** See `Destination.members`. */
  readonly members: string;
  /** The principal of the binding when the holder was last placed in the route table. */
  principal: Principal;
  /** Undefined while the holder is refused. */
  claim: RouteClaim | undefined;
  /** The claim whose lead is named in the reported problem of this holder. Undefined if the problem names no lead. */
  namedIn: RouteClaim | undefined;
}

/**
 * Maximum number of waiting triggers of a claim whose reported problem names the serving trigger. When another trigger
 * serves, all these problems must be reported again, so the limit bounds the number of reports.
 */
const MAX_NAMED = 32;

const TAKEN = "path taken by another trigger";

/**
 * All triggers of one principal with the same method and path shape. The first trigger whose worker is connected
 * serves, and the other triggers wait. If no worker is connected, the first trigger keeps the route.
 */
export class RouteClaim implements TreeEntry {
  readonly key: string;
  readonly principal: Principal;
  readonly method: RouteMethod;
  readonly pattern: RoutePattern;
  /** In order of registration. Only a reserved claim may have none. */
  readonly members = new Set<RouteHolder>();
  /** Claims that wait for this one to end. */
  readonly waiting = new Set<RouteClaim>();
  isServing = false;
  /**
   * The claim that this claim waits for. Undefined in two cases: this claim serves; or it is pending, that is, it will
   * be examined again.
   */
  behind: RouteClaim | undefined;
  /**
   * True if a trusted worker registered the route and did not unregister it. A reserved claim blocks restricted claims
   * even while it has no members.
   */
  isReserved = false;
  /** Position among the waiting claims. */
  order: number;
  readonly #named = new Set<RouteHolder>();
  #lead: RouteHolder | undefined;

  constructor(
    key: string,
    principal: Principal,
    route: { readonly method: RouteMethod; readonly pattern: RoutePattern },
    order: number,
  ) {
    this.key = key;
    this.principal = principal;
    this.method = route.method;
    this.pattern = route.pattern;
    this.order = order;
  }

  get owner(): string {
    return this.principal.id;
  }

  /** The member that serves if the claim serves. */
  get lead(): RouteHolder | undefined {
    return this.#lead;
  }

  /**
   * Must be called when the worker of a member disconnected or reconnected. If another member is the lead now, reports
   * the new states.
   */
  awayChanged(): void {
    const before = this.#lead;
    this.#chooseLead();
    if (this.#lead === before) return;
    this.leadChanged();
    if (before !== undefined) this.report(before);
  }

  #chooseLead(): void {
    this.#lead = undefined;
    for (const member of this.members) {
      this.#lead ??= member;
      if (member.binding.awaitsOwner) continue;
      this.#lead = member;
      return;
    }
  }

  add(holder: RouteHolder, where: "first" | "last"): void {
    const others = where === "first" ? [...this.members] : [];
    if (where === "first") this.members.clear();
    for (const each of [holder, ...others]) this.members.add(each);
    holder.claim = this;
    this.#chooseLead();
  }

  remove(holder: RouteHolder): void {
    this.members.delete(holder);
    holder.claim = undefined;
    this.#chooseLead();
    unname(holder);
  }

  /** Reports the state of each member. */
  reportAll(): void {
    for (const member of this.members) this.report(member);
  }

  /** Reports the state of the new lead, and of the holders whose problem names the previous lead. */
  leadChanged(): void {
    const { lead } = this;
    if (lead !== undefined) this.report(lead);
    for (const holder of this.#named) holder.claim?.report(holder);
  }

  /** Reports the state of one member. */
  report(holder: RouteHolder): void {
    const server = this.isServing ? this : this.behind;
    if (server === this && this.lead === holder) {
      unname(holder);
      holder.binding.report(undefined);
      return;
    }
    if (holder.namedIn !== server) unname(holder);
    if (server !== undefined) server.#name(holder);
    holder.binding.report(holder.namedIn === undefined ? TAKEN : problemBehind(holder.namedIn, holder));
  }

  #name(holder: RouteHolder): void {
    if (this.#named.size >= MAX_NAMED || holder.namedIn === this) return;
    this.#named.add(holder);
    holder.namedIn = this;
  }

  static unname(holder: RouteHolder): void {
    const { namedIn } = holder;
    if (namedIn !== undefined) namedIn.#named.delete(holder);
    holder.namedIn = undefined;
  }
}

const { unname } = RouteClaim;

export function keyOf({ method, pattern }: { readonly method: RouteMethod; readonly pattern: RoutePattern }): string {
  return `${method} ${pattern.shape}`;
}

/**
 * Returns the reason why a binding does not serve while the lead of `claim` serves. Returns undefined if both bindings
 * would respond in the same way.
 */
function problemBehind(claim: RouteClaim, holder: RouteHolder): string | undefined {
  const { binding, pattern } = holder;
  const owner = claim.lead;
  if (owner === undefined)
    return `path reserved: a trusted worker served ${claim.method} ${claim.pattern.path} and may come back`;
  if (keyOf(owner) !== keyOf(holder))
    return `path taken by ${owner.binding.functionId}, which serves ${owner.method} ${owner.pattern.path}`;
  if (!respondsAlike(binding, owner.binding)) return `route taken by ${owner.binding.functionId}`;
  if (isDeepStrictEqual(namesIn(pattern), namesIn(owner.pattern))) return undefined;
  return `route served as ${owner.pattern.path}, whose parameters have other names: the function gets those`;
}

function namesIn({ parameterNames, tailName }: RoutePattern): readonly (string | undefined)[] {
  return [...parameterNames, tailName];
}

/** Returns true if both bindings would respond in the same way, so that it does not matter which one serves. */
function respondsAlike(a: RouteBinding, b: RouteBinding): boolean {
  return (
    a.functionId === b.functionId && isDeepStrictEqual({ ...a.settings, apiPath: "" }, { ...b.settings, apiPath: "" })
  );
}
