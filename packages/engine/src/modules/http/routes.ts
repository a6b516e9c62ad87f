import { isDeepStrictEqual } from "node:util";
import { CallError } from "@svc/protocol";
import createRouter from "find-my-way";
import { isSamePrincipal, type Principal, type TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { covers, liesBelow, overlaps, parameterKey, parseRoutePattern, type RoutePattern } from "./route-pattern.ts";
import type { RouteMethod, RouteSettings } from "./route-settings.ts";
import { ROUTE_METHODS } from "./route-settings.ts";

export type RouteBinding = TriggerBinding<RouteSettings>;

/** A binding with its path taken apart. */
export interface RouteHolder {
  readonly binding: RouteBinding;
  readonly pattern: RoutePattern;
  readonly method: RouteMethod;
  /** As the holder was last placed by. */
  principal: Principal;
  /** The holder that serves in its place; undefined while it serves itself. */
  behind: RouteHolder | undefined;
}

export type RouteMatch =
  | { readonly kind: "found"; readonly holder: RouteHolder; readonly pathParams: Record<string, string> }
  /** The path exists for these methods only. */
  | { readonly kind: "wrong method"; readonly allow: readonly string[] }
  | { readonly kind: "none" };

type Router = createRouter.Instance<createRouter.HTTPVersion.V1>;

/**
 * Who answers which method and path. A path that a trusted worker serves, by whatever method, is served by trusted workers alone; a restricted
 * connection gets what is left. Of two restricted principals the one that came first keeps a path. Among the routes of one principal a static
 * segment beats a parameter, a parameter beats a tail, and of equal routes the first serves. Case and the trailing slash count. Parameters and tails
 * take at least one character.
 */
export class RouteTable {
  /** In order of registration. A route whose principal changes is registered again. */
  readonly #trusted = new Set<RouteHolder>();
  #restricted: Set<RouteHolder> = new Set();
  /** Those trusted that serve, by method and shape. */
  readonly #serving = new Map<string, RouteHolder>();
  // Taking a route out of a router rebuilds it whole, so leaving routes (a worker with a thousand of them goes) only void it.
  #trustedRouter: Router | undefined;
  #restrictedRouter: Router | undefined;
  #neededByAll: readonly string[] = [];

  /** Number of routes that are served. */
  get size(): number {
    return this.owners().length;
  }

  /** Who serves each route. */
  owners(): RouteHolder[] {
    return [...this.#trusted, ...this.#restricted].filter(({ behind }) => behind === undefined);
  }

  /** Functions that every route needs: the middleware of svc-http. */
  setNeededByAll(functionIds: readonly string[]): void {
    this.#neededByAll = functionIds;
    for (const { binding } of [...this.#trusted, ...this.#restricted]) this.#tellNeeds(binding);
  }

  #tellNeeds(binding: RouteBinding): void {
    const { conditionFunctionId, middleware } = binding.settings;
    const condition = conditionFunctionId === undefined ? [] : [conditionFunctionId];
    binding.needs([...condition, ...middleware.map(({ functionId }) => functionId), ...this.#neededByAll]);
  }

  /** Adds a binding, which serves its route or waits behind who does. The undo hands the route to the next in line. */
  add(binding: RouteBinding): Undo {
    const { method, apiPath } = binding.settings;
    const pattern = parseRoutePattern(apiPath);
    if ("problem" in pattern) throw new TypeError(`api_path: ${pattern.problem}`);
    const refusal = outsidePrefix(binding, pattern);
    if (refusal !== undefined) throw new CallError("FORBIDDEN", refusal);
    const holder: RouteHolder = { binding, pattern, method, principal: binding.principal, behind: undefined };
    this.#tellNeeds(binding);
    this.#place(holder, "last");
    const stopListening = binding.onPrincipalChange(() => {
      this.#remove(holder);
      holder.principal = binding.principal;
      const outside = outsidePrefix(binding, pattern);
      if (outside !== undefined) {
        binding.report(outside);
        return;
      }
      // Who was raised comes after those who were there; who has fallen behind served before those who wait.
      this.#place(holder, holder.principal.isTrusted ? "last" : "first");
    });
    return () => {
      stopListening();
      this.#remove(holder);
    };
  }

  #place(holder: RouteHolder, where: "first" | "last"): void {
    const isTrusted = holder.principal.isTrusted;
    if (isTrusted) this.#trusted.add(holder);
    else if (where === "last") this.#restricted.add(holder);
    else {
      this.#restricted = new Set([holder, ...this.#restricted]);
      this.#restrictedRouter = undefined;
    }
    this.#settle(holder);
    if (holder.behind !== undefined) return;
    this.#served(holder);
    // A restricted route that serves may have been there before.
    if (isTrusted || where === "first")
      this.#settleRestricted((other) => other !== holder && other.behind === undefined && overlaps(holder.pattern, other.pattern));
  }

  #remove(holder: RouteHolder): void {
    if (!this.#trusted.delete(holder) && !this.#restricted.delete(holder)) return;
    if (holder.behind === undefined) this.#voidRouter(holder);
    const isFreed = ({ behind }: RouteHolder): boolean => behind === holder;
    for (const other of this.#trusted) if (isFreed(other)) this.#settleAgain(other);
    this.#settleRestricted(isFreed);
  }

  /** In the order they came: one that is served takes the place of later ones. */
  #settleRestricted(concerns: (holder: RouteHolder) => boolean): void {
    for (const other of this.#restricted) if (concerns(other)) this.#settleAgain(other);
  }

  #settleAgain(holder: RouteHolder): void {
    const before = holder.behind;
    this.#settle(holder);
    if (before !== undefined && holder.behind === undefined) this.#served(holder);
    else if (before === undefined && holder.behind !== undefined) {
      this.#voidRouter(holder);
      // Those that waited for it wait for whoever serves now, or serve what that one leaves.
      this.#settleRestricted(({ behind }) => behind === holder);
    }
  }

  /** Decides who serves in the holder's place, and tells its binding how it stands. */
  #settle(holder: RouteHolder): void {
    holder.behind = this.#servingInPlaceOf(holder);
    holder.binding.report(holder.behind === undefined ? undefined : problemBehind(holder.behind, holder));
  }

  #servingInPlaceOf(holder: RouteHolder): RouteHolder | undefined {
    if (holder.principal.isTrusted) return this.#serving.get(keyOf(holder));
    for (const other of this.#serving.values()) if (covers(other.pattern, holder.pattern)) return other;
    for (const other of this.#restricted) {
      if (other === holder) return undefined;
      if (other.behind !== undefined) continue;
      if (isSamePrincipal(other.principal, holder.principal) ? keyOf(other) === keyOf(holder) : overlaps(other.pattern, holder.pattern)) return other;
    }
    return undefined;
  }

  #served(holder: RouteHolder): void {
    if (holder.principal.isTrusted) this.#serving.set(keyOf(holder), holder);
    const router = holder.principal.isTrusted ? this.#trustedRouter : this.#restrictedRouter;
    if (router !== undefined) addTo(router, holder);
  }

  #voidRouter(holder: RouteHolder): void {
    if (!holder.principal.isTrusted) this.#restrictedRouter = undefined;
    else {
      this.#serving.delete(keyOf(holder));
      this.#trustedRouter = undefined;
    }
  }

  /** Finds the route of a decoded path. HEAD falls back to GET. */
  match(method: string, path: string): RouteMatch {
    for (const router of this.#routers()) {
      const found = isRouteMethod(method) ? (find(router, method, path) ?? (method === "HEAD" ? find(router, "GET", path) : undefined)) : undefined;
      if (found !== undefined) return found;
      const allow = allowedMethods(router, path);
      if (allow.length > 0) return { kind: "wrong method", allow };
    }
    return { kind: "none" };
  }

  /** The methods of a decoded path, sorted, with HEAD and OPTIONS where they are answered without a route. */
  methodsOf(path: string): readonly string[] {
    for (const router of this.#routers()) {
      const allow = allowedMethods(router, path);
      if (allow.length > 0) return allow;
    }
    return [];
  }

  /** That of trusted workers first: what one of its routes matches is not looked for in the other. */
  #routers(): readonly Router[] {
    this.#trustedRouter ??= routerOf(this.#trusted);
    this.#restrictedRouter ??= routerOf(this.#restricted);
    return [this.#trustedRouter, this.#restrictedRouter];
  }
}

/** Why the principal of the binding may not have the route, by its path prefix. */
function outsidePrefix({ principal: { httpPathPrefix } }: RouteBinding, pattern: RoutePattern): string | undefined {
  if (httpPathPrefix === undefined || liesBelow(pattern, httpPathPrefix)) return undefined;
  return `routes of this connection must lie below ${httpPathPrefix}, e.g. ${httpPathPrefix}${pattern.path}`;
}

function keyOf({ method, pattern }: RouteHolder): string {
  return `${method} ${pattern.shape}`;
}

function allowedMethods(router: Router, path: string): readonly string[] {
  const methods = ROUTE_METHODS.filter((candidate) => find(router, candidate, path) !== undefined);
  if (methods.length === 0) return [];
  const allow = new Set<string>([...methods, "OPTIONS"]);
  if (allow.has("GET")) allow.add("HEAD");
  return [...allow].sort();
}

function find(router: Router, method: RouteMethod, path: string): Extract<RouteMatch, { kind: "found" }> | undefined {
  const found = router.find(method, path);
  if (found === null) return undefined;
  const holder = found.store as RouteHolder;
  const pathParams = Object.create(null) as Record<string, string>;
  const { parameterNames, tailName } = holder.pattern;
  for (const [position, name] of parameterNames.entries()) {
    const value = found.params[parameterKey(position)];
    if (value === undefined || value === "") return undefined;
    pathParams[name] = value;
  }
  if (tailName !== undefined) {
    const tail = found.params["*"];
    if (tail === undefined || tail === "") return undefined;
    pathParams[tailName] = tail;
  }
  return { kind: "found", holder, pathParams };
}

function routerOf(holders: Iterable<RouteHolder>): Router {
  // No limit of its own for parameters: the listener bounds the request line.
  const router = createRouter({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: Number.POSITIVE_INFINITY });
  for (const holder of holders) if (holder.behind === undefined) addTo(router, holder);
  return router;
}

function addTo(router: Router, holder: RouteHolder): void {
  router.on(holder.method, holder.pattern.shape, noHandler, holder);
}

// The router is only asked where a path leads; what happens there is not its business.
function noHandler(): void {}

function isRouteMethod(method: string): method is RouteMethod {
  return (ROUTE_METHODS as readonly string[]).includes(method);
}

/** What keeps a binding from being served by the owner of its route. */
function problemBehind(owner: RouteHolder, holder: RouteHolder): string | undefined {
  const { binding, pattern } = holder;
  if (keyOf(owner) !== keyOf(holder)) return `path taken by ${owner.binding.functionId}, which serves ${owner.method} ${owner.pattern.path}`;
  if (!answersAlike(binding, owner.binding)) return `route taken by ${owner.binding.functionId}`;
  if (isDeepStrictEqual(namesIn(pattern), namesIn(owner.pattern))) return undefined;
  return `route served as ${owner.pattern.path}, whose parameters have other names: the function gets those`;
}

function namesIn({ parameterNames, tailName }: RoutePattern): readonly (string | undefined)[] {
  return [...parameterNames, tailName];
}

/** A second binding that would answer exactly like the first is no conflict. */
function answersAlike(a: RouteBinding, b: RouteBinding): boolean {
  return a.functionId === b.functionId && isDeepStrictEqual({ ...a.settings, apiPath: "" }, { ...b.settings, apiPath: "" });
}
