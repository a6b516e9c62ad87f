import { CallError } from "@svc-runtime/protocol";
import { overQuota, type Principal, Quota, type QuotaLimits, TRUSTED } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import { triggerMembers } from "../request.ts";
import { keyOf, type RouteBinding, RouteClaim, type RouteHolder } from "./route-claim.ts";
import { liesBelow, parseRoutePattern, type RoutePattern } from "./route-pattern.ts";
import type { RouteMethod } from "./route-settings.ts";
import { ROUTE_METHODS } from "./route-settings.ts";
import { RouteTree } from "./route-tree.ts";

export type { RouteBinding, RouteHolder } from "./route-claim.ts";

export type RouteMatch =
  | { readonly kind: "found"; readonly holder: RouteHolder; readonly pathParams: Record<string, string> }
  /** The path exists for these methods only. */
  | { readonly kind: "wrong method"; readonly allow: readonly string[] }
  | { readonly kind: "none" };

/**
 * Maximum number of routes of restricted principals, whether they serve or wait: of each principal, and of all
 * together.
 */
const MAX_ROUTES: QuotaLimits = { each: 1_000, restricted: 8_000 };
/** Maximum number of segments in a route of a restricted principal. Bounds the cost of a search for conflicts. */
const MAX_SEGMENTS = 32;
/** Maximum number of trusted routes that stay reserved. If there are more, the oldest reservations are removed. */
const MAX_RESERVED = 10_000;
/** Maximum work on waiting routes in one turn of the event loop, in visited nodes: about 2 ms. */
const WORK_PER_TURN = 10_000;
/**
 * Cost of examining a waiting route in addition to its search: reporting its state and sending a frame to its worker.
 * The cost is expressed in visited nodes.
 */
const WORK_PER_CLAIM = 100;

/** Persists the reserved routes over restarts of the engine. */
interface SavedEntries {
  add(entry: string): void;
  remove(entry: string): void;
}

export interface RouteTableOptions {
  /** Routes that trusted workers had in the previous run, e.g. `GET /users/:id`. */
  readonly reserved?: readonly string[];
  readonly saved?: SavedEntries;
  /** Why the routes of trusted workers are not known, and what to do; undefined if they are known. */
  readonly problem?: string | undefined;
  readonly maxRoutes?: QuotaLimits;
  readonly maxReserved?: number;
}

/**
 * Maps methods and paths to bindings. If a trusted worker serves a path with any method, only trusted workers can serve
 * the path. This also holds while the worker is disconnected, until a trusted worker unregisters the route. Restricted
 * connections get the remaining paths. If two restricted principals register the same path, the first one keeps it.
 *
 * Among the routes of one principal, a literal segment precedes a parameter, and a parameter precedes a tail. Of equal
 * routes, the first one whose worker is connected serves. Paths are case-sensitive, and a trailing slash is
 * significant. Parameters and tails match at least one character.
 */
export class RouteTable {
  readonly #holders = new Set<RouteHolder>();
  /** Claims of trusted workers by method and shape. All of them serve or are reserved. */
  readonly #trusted = new Map<string, RouteClaim>();
  readonly #trustedTree = new RouteTree<RouteClaim>();
  /** Claims of restricted principals, by principal and then by method and shape. */
  readonly #restricted = new Map<string, Map<string, RouteClaim>>();
  /** Claims of restricted principals that serve. Claims of two different principals in this tree never overlap. */
  readonly #restrictedTree = new RouteTree<RouteClaim>();
  /** Claims to examine again, because the claims that they waited for have ended. */
  #pending: RouteClaim[] = [];
  #nextTurn: NodeJS.Immediate | undefined;
  /** Keys of reserved routes with their entries in `saved`, the oldest first. */
  readonly #reserved = new Map<string, string>();
  readonly #saved: SavedEntries | undefined;
  readonly #problem: string | undefined;
  readonly #maxReserved: number;
  readonly #quota: Quota;
  #lastOrder = 0;
  #firstOrder = 0;
  #neededByAll: readonly string[] = [];

  constructor({
    reserved = [],
    saved,
    problem,
    maxRoutes = MAX_ROUTES,
    maxReserved = MAX_RESERVED,
  }: RouteTableOptions = {}) {
    this.#saved = saved;
    this.#problem = problem;
    this.#maxReserved = maxReserved;
    this.#quota = new Quota("HTTP routes", maxRoutes);
    for (const entry of reserved) this.#restore(entry);
  }

  /** Number of routes that are served. */
  get size(): number {
    return this.owners().length;
  }

  /** Returns the serving holder of each route. */
  owners(): RouteHolder[] {
    return [...this.#holders].filter((holder) => holder.claim?.isServing === true && holder.claim.lead === holder);
  }

  /** Number of nodes visited by searches for conflicts so far. */
  get visits(): number {
    return this.#trustedTree.visits + this.#restrictedTree.visits;
  }

  /** Sets the functions that every route needs: the middleware of svc-http. */
  setNeededByAll(functionIds: readonly string[]): void {
    this.#neededByAll = functionIds;
    for (const { binding } of this.#holders) this.#reportNeeds(binding);
  }

  #reportNeeds(binding: RouteBinding): void {
    const { conditionFunctionId, middleware } = binding.settings;
    const condition = conditionFunctionId === undefined ? [] : [conditionFunctionId];
    binding.needs([...condition, ...middleware.map(({ functionId }) => functionId), ...this.#neededByAll]);
  }

  /**
   * Adds a binding. It serves its route, or it waits for the binding that serves the route. The returned function
   * removes the binding and passes the route to the next binding. While the worker of the serving binding is away, the
   * next binding whose worker is connected serves.
   */
  add(binding: RouteBinding): Undo {
    const { method, apiPath } = binding.settings;
    const pattern = parseRoutePattern(apiPath);
    if ("problem" in pattern) throw new TypeError(`api_path: ${pattern.problem}`);
    const holder: RouteHolder = {
      binding,
      pattern,
      method,
      members: triggerMembers(method, { path: pattern.path, method }),
      principal: binding.principal,
      claim: undefined,
      namedIn: undefined,
    };
    const refusal = this.#admit(holder);
    if (refusal !== undefined) throw refusal;
    this.#reportNeeds(binding);
    this.#place(holder, "last");
    const stopListening = binding.onPrincipalChange(() => {
      this.#remove(holder);
      holder.principal = binding.principal;
      const refused = this.#admit(holder);
      if (refused !== undefined) {
        binding.report(refused.message);
        return;
      }
      // A holder that became trusted is placed after the existing holders of its route. A holder that became restricted
      // has served before, so it is placed before the waiting holders.
      this.#place(holder, holder.principal.isTrusted ? "last" : "first");
    });
    const stopWatching = binding.onAwayChange(() => holder.claim?.awayChanged());
    return () => {
      stopListening();
      stopWatching();
      this.#remove(holder);
    };
  }

  /**
   * Returns the reason why the principal may not have the route. If there is none, counts the route and returns
   * undefined.
   */
  #admit({ principal, pattern }: RouteHolder): CallError | undefined {
    if (principal.isTrusted) return undefined;
    const outside = outsidePrefix(principal, pattern);
    if (outside !== undefined) return new CallError("FORBIDDEN", outside);
    // A principal with a path prefix is not refused, because the paths below the prefix belong to it.
    if (this.#problem !== undefined && principal.httpPathPrefix === undefined) {
      return new CallError("FORBIDDEN", `${pattern.path} may be a route of a trusted worker: ${this.#problem}`);
    }
    const { length } = pattern.segments;
    if (length > MAX_SEGMENTS)
      return new CallError(
        "FORBIDDEN",
        `the route has ${length} segments; restricted connections may use ${MAX_SEGMENTS}`,
      );
    const problem = this.#quota.take(principal);
    return problem === undefined ? undefined : overQuota(problem);
  }

  #place(holder: RouteHolder, where: "first" | "last"): void {
    this.#holders.add(holder);
    if (holder.principal.isTrusted) this.#placeTrusted(holder);
    else this.#placeRestricted(holder, where);
    this.#settlePending();
  }

  #placeTrusted(holder: RouteHolder): void {
    const claim = this.#trusted.get(keyOf(holder)) ?? this.#claimTrusted(holder);
    const previousLead = claim.lead;
    claim.add(holder, "last");
    if (claim.lead === holder) {
      claim.leadChanged();
      // The worker of the previous lead is away, so the new member serves in its place.
      if (previousLead !== undefined) claim.report(previousLead);
      for (const covered of this.#restrictedTree.all("is covered by", claim.pattern)) this.#displace(covered, claim);
    } else claim.report(holder);
    this.#reserve(claim, holder);
  }

  #claimTrusted(route: { readonly method: RouteMethod; readonly pattern: RoutePattern }): RouteClaim {
    const claim = new RouteClaim(keyOf(route), TRUSTED, route, 0);
    claim.isServing = true;
    this.#trusted.set(claim.key, claim);
    this.#trustedTree.add(claim);
    return claim;
  }

  #placeRestricted(holder: RouteHolder, where: "first" | "last"): void {
    const { principal } = holder;
    const key = keyOf(holder);
    const own = this.#restricted.get(principal.id) ?? new Map<string, RouteClaim>();
    this.#restricted.set(principal.id, own);
    const before = own.get(key);
    const claim = before ?? new RouteClaim(key, principal, holder, 0);
    own.set(key, claim);
    if (where === "first") claim.order = --this.#firstOrder;
    else if (before === undefined) claim.order = ++this.#lastOrder;
    const previousLead = claim.lead;
    claim.add(holder, where);
    if (where === "first" && !claim.isServing) this.#settleFirst(claim);
    else if (before === undefined) this.#settle(claim);
    else if (where === "first") {
      claim.leadChanged();
      if (previousLead !== undefined) claim.report(previousLead);
    } else claim.report(holder);
  }

  /** Decides whether the claim serves. */
  #settle(claim: RouteClaim): void {
    const { pattern, owner } = claim;
    const behind = this.#trustedTree.find("covers", pattern) ?? this.#restrictedTree.find("overlaps", pattern, owner);
    if (behind === undefined) this.#serve(claim);
    else this.#wait(claim, behind);
  }

  /** Decides whether a claim serves. The claim precedes all other restricted claims. */
  #settleFirst(claim: RouteClaim): void {
    claim.behind?.waiting.delete(claim);
    const behind = this.#trustedTree.find("covers", claim.pattern);
    if (behind !== undefined) {
      this.#wait(claim, behind);
      return;
    }
    for (const other of this.#restrictedTree.all("overlaps", claim.pattern, claim.owner)) this.#displace(other, claim);
    this.#serve(claim);
  }

  #serve(claim: RouteClaim): void {
    claim.behind = undefined;
    claim.isServing = true;
    this.#restrictedTree.add(claim);
    claim.reportAll();
  }

  #wait(claim: RouteClaim, behind: RouteClaim): void {
    claim.behind = behind;
    behind.waiting.add(claim);
    claim.reportAll();
  }

  /**
   * Ends the service of a restricted claim, which then waits for `by`. Claims that waited for `claim` are examined
   * again, because they may not conflict with `by`.
   */
  #displace(claim: RouteClaim, by: RouteClaim): void {
    this.#endService(claim);
    this.#wait(claim, by);
  }

  #endService(claim: RouteClaim): void {
    claim.isServing = false;
    this.#restrictedTree.delete(claim);
    this.#free(claim);
  }

  /** Makes the claims that wait for `claim` pending, so that they are examined again. */
  #free(claim: RouteClaim): void {
    const freed = [...claim.waiting].sort((one, other) => one.order - other.order);
    claim.waiting.clear();
    for (const each of freed) {
      each.behind = undefined;
      this.#pending.push(each);
    }
  }

  /**
   * Examines pending claims in order, up to `WORK_PER_TURN` in one turn of the event loop. A route that is registered
   * between two turns may be served before the remaining pending claims.
   */
  #settlePending(): void {
    if (this.#nextTurn !== undefined) return;
    const until = this.visits + WORK_PER_TURN;
    let done = 0;
    for (const claim of this.#pending) {
      if (this.visits + done * WORK_PER_CLAIM >= until) break;
      done++;
      // While the claim was pending, it may have lost its members or been placed first.
      if (claim.members.size > 0 && claim.behind === undefined && !claim.isServing) this.#settle(claim);
    }
    this.#pending = this.#pending.slice(done);
    if (this.#pending.length === 0) return;
    this.#nextTurn = setImmediate(() => {
      this.#nextTurn = undefined;
      this.#settlePending();
    });
  }

  #remove(holder: RouteHolder): void {
    const { claim, principal } = holder;
    if (claim === undefined) return;
    const wasLead = claim.lead === holder;
    claim.remove(holder);
    this.#holders.delete(holder);
    // The reservation of a route ends only if a worker unregisters the trigger, and then at once. SDKs unregister no
    // triggers at shutdown, so unregistering is always an explicit decision. A worker that disconnects does not end the
    // reservation.
    if (!principal.isTrusted) this.#quota.release(principal);
    else if (holder.binding.isGivenUp && claim.members.size === 0) this.#unreserve(claim.key);
    if (claim.members.size > 0) {
      if (wasLead) claim.leadChanged();
    } else if (principal.isTrusted) this.#endTrusted(claim);
    else this.#endRestricted(claim);
    this.#settlePending();
  }

  #endTrusted(claim: RouteClaim): void {
    if (claim.isReserved) {
      claim.leadChanged();
      return;
    }
    this.#trusted.delete(claim.key);
    this.#trustedTree.delete(claim);
    this.#free(claim);
  }

  #endRestricted(claim: RouteClaim): void {
    const own = this.#restricted.get(claim.owner);
    own?.delete(claim.key);
    if (own?.size === 0) this.#restricted.delete(claim.owner);
    claim.behind?.waiting.delete(claim);
    if (claim.isServing) this.#endService(claim);
  }

  #restore(entry: string): void {
    const route = reservedRouteOf(entry);
    if (route === undefined) return;
    const key = keyOf(route);
    const claim = this.#trusted.get(key) ?? this.#claimTrusted(route);
    claim.isReserved = true;
    this.#reserved.set(key, entry);
  }

  /** Reserves the route for trusted workers until one of them unregisters it. */
  #reserve(claim: RouteClaim, { method, pattern }: RouteHolder): void {
    const before = this.#reserved.get(claim.key);
    const entry = before ?? `${method} ${pattern.path}`;
    // Inserted again at the end, where the newest reservation is.
    this.#reserved.delete(claim.key);
    this.#reserved.set(claim.key, entry);
    claim.isReserved = true;
    if (before !== undefined) return;
    this.#saved?.add(entry);
    const [oldest] = this.#reserved.keys();
    if (this.#reserved.size <= this.#maxReserved || oldest === undefined) return;
    const forgotten = this.#trusted.get(oldest);
    this.#unreserve(oldest);
    if (forgotten?.members.size === 0) this.#endTrusted(forgotten);
  }

  #unreserve(key: string): void {
    const entry = this.#reserved.get(key);
    if (entry === undefined) return;
    this.#reserved.delete(key);
    this.#saved?.remove(entry);
    const claim = this.#trusted.get(key);
    if (claim !== undefined) claim.isReserved = false;
  }

  /** Finds the route of a decoded path. HEAD falls back to GET. */
  match(method: string, path: string): RouteMatch {
    return this.#matchLiteral(method, path) ?? this.#matchSegments(method, path);
  }

  /**
   * Finds the trusted route without parameters whose path equals the given path. It precedes all other routes, so no
   * search is needed.
   */
  #matchLiteral(method: string, path: string): RouteMatch | undefined {
    // The path is compared with shapes, in which `:` and `*` have a meaning of their own. In a path, `%` begins an
    // encoded character. So paths with these characters need a search.
    if (NOT_PLAIN.test(path)) return undefined;
    const holder = this.#trusted.get(`${method} ${path}`)?.lead;
    return holder === undefined ? undefined : { kind: "found", holder, pathParams: NO_PARAMETERS };
  }

  #matchSegments(method: string, path: string): RouteMatch {
    const texts = textsOf(path);
    // Most requests are for a trusted route, so one search is usually enough.
    const claim = servingOrHead(this.#trustedTree, method, texts) ?? servingOrHead(this.#treeFor(texts), method, texts);
    const holder = claim?.lead;
    if (holder !== undefined) return { kind: "found", holder, pathParams: parametersOf(holder.pattern, texts) };
    const allow = allowedMethods(this.#treeFor(texts), texts);
    return allow.length > 0 ? { kind: "wrong method", allow } : { kind: "none" };
  }

  /** Returns the methods of a decoded path, sorted. Includes OPTIONS, and HEAD if there is a route for GET. */
  methodsOf(path: string): readonly string[] {
    const texts = textsOf(path);
    return allowedMethods(this.#treeFor(texts), texts);
  }

  /** Returns whether a trusted route, served or reserved, matches the decoded path, with any method. */
  isOfTrusted(path: string): boolean {
    return this.#isOfTrusted(textsOf(path));
  }

  #isOfTrusted(texts: readonly string[]): boolean {
    return this.#trustedTree.match(texts, () => true) !== undefined;
  }

  /**
   * Returns the tree that serves the path. A path that matches a trusted route is never served by a restricted route.
   */
  #treeFor(texts: readonly string[]): RouteTree<RouteClaim> {
    return this.#isOfTrusted(texts) ? this.#trustedTree : this.#restrictedTree;
  }
}

const NOT_PLAIN = /[:*%]/;

/** Shared by the requests of routes without parameters. Must not be modified. */
const NO_PARAMETERS = Object.create(null) as Record<string, string>;

/** Returns why the principal's path prefix does not allow the route. */
function outsidePrefix({ httpPathPrefix }: Principal, pattern: RoutePattern): string | undefined {
  if (httpPathPrefix === undefined || liesBelow(pattern, httpPathPrefix)) return undefined;
  return `routes of this connection must lie below ${httpPathPrefix}, e.g. ${httpPathPrefix}${pattern.path}`;
}

function allowedMethods(tree: RouteTree<RouteClaim>, texts: readonly string[]): readonly string[] {
  const methods = ROUTE_METHODS.filter((candidate) => serving(tree, candidate, texts) !== undefined);
  if (methods.length === 0) return [];
  const allow = new Set<string>([...methods, "OPTIONS"]);
  if (allow.has("GET")) allow.add("HEAD");
  return [...allow].sort();
}

function servingOrHead(tree: RouteTree<RouteClaim>, method: string, texts: readonly string[]): RouteClaim | undefined {
  return serving(tree, method, texts) ?? (method === "HEAD" ? serving(tree, "GET", texts) : undefined);
}

/** Returns the claim that serves the path. A reserved claim without members serves nothing. */
function serving(tree: RouteTree<RouteClaim>, method: string, texts: readonly string[]): RouteClaim | undefined {
  return tree.match(texts, (claim) => claim.method === method && claim.members.size > 0);
}

/** Returns the segments of a path in which only `%`, `?` and `#` are encoded. */
function textsOf(path: string): readonly string[] {
  const texts = path.slice(1).split("/");
  return path.includes("%") ? texts.map(decodeURIComponent) : texts;
}

function parametersOf({ segments }: RoutePattern, texts: readonly string[]): Record<string, string> {
  const pathParams = Object.create(null) as Record<string, string>;
  for (const [at, segment] of segments.entries()) {
    if (segment.kind === "parameter") pathParams[segment.name] = texts[at] ?? "";
    else if (segment.kind === "tail") pathParams[segment.name] = texts.slice(at).join("/");
  }
  return pathParams;
}

/** Parses an entry of the saved list, e.g. `GET /users/:id`; undefined if it is malformed. */
function reservedRouteOf(entry: string): { readonly method: RouteMethod; readonly pattern: RoutePattern } | undefined {
  const space = entry.indexOf(" ");
  const method = entry.slice(0, space);
  const pattern = parseRoutePattern(entry.slice(space + 1));
  return isRouteMethod(method) && !("problem" in pattern) ? { method, pattern } : undefined;
}

/** Returns true if the entry is a valid entry of the saved list. */
export function isReservedRoute(entry: string): boolean {
  return reservedRouteOf(entry) !== undefined;
}

function isRouteMethod(method: string): method is RouteMethod {
  return (ROUTE_METHODS as readonly string[]).includes(method);
}
