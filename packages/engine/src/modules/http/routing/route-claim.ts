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
  /** The principal when the holder was last placed. */
  principal: Principal;
  /** Undefined while the holder is refused. */
  claim: RouteClaim | undefined;
  /** The claim whose lead the reported problem names. */
  namedIn: RouteClaim | undefined;
}

/**
 * Maximum number of waiting triggers whose problem names the serving one, so that a change of that one causes a bounded
 * number of reports.
 */
const MAX_NAMED = 32;

const TAKEN = "path taken by another trigger";

/**
 * All triggers of one principal with the same method and path shape. The first one whose worker is connected serves,
 * the others wait. While the workers of all are away, the first one keeps the route.
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
  /** The claim that this one waits for. Undefined while it serves, and while it waits to be examined again. */
  behind: RouteClaim | undefined;
  /**
   * True if a trusted worker registered it and did not unregister it. It then blocks restricted claims also without
   * members.
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

  /** Must be called when the worker of a member went away or came back. Reports if another member serves now. */
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

  /** Reports to the new lead, and to members whose problem names the previous one. */
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

/** Returns why a binding does not serve beside the owner of its route; undefined if there is no conflict. */
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

/** A second binding that would respond exactly like the first is not a conflict. */
function respondsAlike(a: RouteBinding, b: RouteBinding): boolean {
  return (
    a.functionId === b.functionId && isDeepStrictEqual({ ...a.settings, apiPath: "" }, { ...b.settings, apiPath: "" })
  );
}
