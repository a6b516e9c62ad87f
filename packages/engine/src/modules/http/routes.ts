import { isDeepStrictEqual } from "node:util";
import createRouter from "find-my-way";
import type { TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { parameterKey, parseRoutePattern, type RoutePattern } from "./route-pattern.ts";
import type { RouteMethod, RouteSettings } from "./route-settings.ts";
import { ROUTE_METHODS } from "./route-settings.ts";

export type RouteBinding = TriggerBinding<RouteSettings>;

/** A binding with its path taken apart. */
export interface RouteHolder {
  readonly binding: RouteBinding;
  readonly pattern: RoutePattern;
  readonly method: RouteMethod;
  /** As the line of holders was last sorted by. */
  isRestricted: boolean;
}

export type RouteMatch =
  | { readonly kind: "found"; readonly holder: RouteHolder; readonly pathParams: Record<string, string> }
  /** The path exists for these methods only. */
  | { readonly kind: "wrong method"; readonly allow: readonly string[] }
  | { readonly kind: "none" };

/**
 * One method and shape of path. The first holder owns it, the others wait in the order they came; those that only restricted
 * connections ask for behind all others.
 */
interface Route {
  readonly method: RouteMethod;
  readonly shape: string;
  readonly holders: RouteHolder[];
}

type Router = createRouter.Instance<createRouter.HTTPVersion.V1>;

/**
 * Who answers which method and path. A static segment beats a parameter, a parameter beats a tail. Case and the trailing slash
 * count. Parameters and tails take at least one character.
 */
export class RouteTable {
  readonly #routes = new Map<string, Route>();
  // Taking a route out of the router rebuilds it whole, so leaving routes (a worker with a thousand of them goes) only void it.
  #router: Router | undefined;
  #neededByAll: readonly string[] = [];

  get size(): number {
    return this.#routes.size;
  }

  /** Who serves each route, in the order the routes came. */
  owners(): RouteHolder[] {
    return [...this.#routes.values()].flatMap(({ holders: [owner] }) => (owner === undefined ? [] : [owner]));
  }

  /** Functions that every route needs: the middleware of svc-http. */
  setNeededByAll(functionIds: readonly string[]): void {
    this.#neededByAll = functionIds;
    for (const { holders } of this.#routes.values()) for (const { binding } of holders) this.#tellNeeds(binding);
  }

  #tellNeeds(binding: RouteBinding): void {
    const { conditionFunctionId, middleware } = binding.settings;
    const condition = conditionFunctionId === undefined ? [] : [conditionFunctionId];
    binding.needs([...condition, ...middleware.map(({ functionId }) => functionId), ...this.#neededByAll]);
  }

  /**
   * Adds a binding as the owner of its route, or behind the owner. One that is not restricted takes the route from one that is. The undo
   * hands the route to the next in line.
   */
  add(binding: RouteBinding): Undo {
    const { method, apiPath } = binding.settings;
    const pattern = parseRoutePattern(apiPath);
    if ("problem" in pattern) throw new TypeError(`api_path: ${pattern.problem}`);
    const holder: RouteHolder = { binding, pattern, method, isRestricted: binding.isRestricted };
    const key = `${method} ${pattern.shape}`;
    const route = this.#routes.get(key) ?? this.#create(key, method, pattern.shape);
    standInLine(route.holders, holder, "last of its kind");
    this.#tellNeeds(binding);
    reportStanding(route);
    const stopListening = binding.onRestriction(() => {
      if (holder.isRestricted === binding.isRestricted) return;
      holder.isRestricted = binding.isRestricted;
      route.holders.splice(route.holders.indexOf(holder), 1);
      // Who has fallen behind served before those who waited; who was raised came after those who were there.
      standInLine(route.holders, holder, holder.isRestricted ? "first of its kind" : "last of its kind");
      reportStanding(route);
    });
    return () => {
      stopListening();
      this.#remove(key, route, holder);
    };
  }

  /** Finds the route of a decoded path. HEAD falls back to GET. */
  match(method: string, path: string): RouteMatch {
    const found = isRouteMethod(method) ? (this.#find(method, path) ?? (method === "HEAD" ? this.#find("GET", path) : undefined)) : undefined;
    if (found !== undefined) return found;
    const allow = this.methodsOf(path);
    return allow.length === 0 ? { kind: "none" } : { kind: "wrong method", allow };
  }

  /** The methods of a decoded path, sorted, with HEAD and OPTIONS where they are answered without a route. */
  methodsOf(path: string): readonly string[] {
    const methods = ROUTE_METHODS.filter((candidate) => this.#find(candidate, path) !== undefined);
    if (methods.length === 0) return [];
    const allow = new Set<string>([...methods, "OPTIONS"]);
    if (allow.has("GET")) allow.add("HEAD");
    return [...allow].sort();
  }

  #find(method: RouteMethod, path: string): Extract<RouteMatch, { kind: "found" }> | undefined {
    this.#router ??= this.#build();
    const found = this.#router.find(method, path);
    if (found === null) return undefined;
    const holder = (found.store as Route).holders[0];
    if (holder === undefined) return undefined;
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

  #create(key: string, method: RouteMethod, shape: string): Route {
    const route: Route = { method, shape, holders: [] };
    this.#routes.set(key, route);
    if (this.#router !== undefined) addTo(this.#router, route);
    return route;
  }

  #remove(key: string, route: Route, holder: RouteHolder): void {
    const at = route.holders.indexOf(holder);
    if (at === -1) return;
    route.holders.splice(at, 1);
    if (route.holders.length > 0) {
      reportStanding(route);
      return;
    }
    this.#routes.delete(key);
    this.#router = undefined;
  }

  #build(): Router {
    // No limit of its own for parameters: the listener bounds the request line.
    const router = createRouter({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: Number.POSITIVE_INFINITY });
    for (const route of this.#routes.values()) addTo(router, route);
    return router;
  }
}

function addTo(router: Router, route: Route): void {
  router.on(route.method, route.shape, noHandler, route);
}

// The router is only asked where a path leads; what happens there is not its business.
function noHandler(): void {}

/** Those that are not restricted stand before those that are. */
function standInLine(line: RouteHolder[], holder: RouteHolder, where: "first of its kind" | "last of its kind"): void {
  const firstRestricted = line.findIndex(({ isRestricted }) => isRestricted);
  const border = firstRestricted === -1 ? line.length : firstRestricted;
  if (holder.isRestricted) line.splice(where === "first of its kind" ? border : line.length, 0, holder);
  else line.splice(where === "first of its kind" ? 0 : border, 0, holder);
}

function isRouteMethod(method: string): method is RouteMethod {
  return (ROUTE_METHODS as readonly string[]).includes(method);
}

/** Tells every holder of a route how it stands: the first serves it, the others learn who has it. */
function reportStanding(route: Route): void {
  const [owner, ...waiting] = route.holders;
  if (owner === undefined) return;
  owner.binding.report(undefined);
  for (const holder of waiting) holder.binding.report(problemBehind(owner, holder));
}

/** What keeps a binding from being served by the owner of its route. */
function problemBehind(owner: RouteHolder, { binding, pattern }: RouteHolder): string | undefined {
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
