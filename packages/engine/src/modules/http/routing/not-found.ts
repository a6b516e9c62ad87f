import type { FunctionId, Payload } from "@svc-runtime/protocol";
import { type CallOptions, type ModuleContext, TRUSTED } from "../../../kernel/module.ts";
import type { HttpConfig } from "../config.ts";
import { Refusal, unavailable } from "../refusal.ts";
import type { Destination } from "../request-context.ts";
import type { RouteResponse } from "../response/route-response.ts";
import type { RequestTarget } from "./path.ts";
import { type RouteSettings, routeSettingsSchema } from "./route-settings.ts";
import type { RouteMatch } from "./routes.ts";

/** Settings of `not_found_function`: the defaults of a route. */
const NOT_FOUND_SETTINGS: RouteSettings = routeSettingsSchema.parse({ api_path: "/" });

/**
 * Returns `not_found_function` as the destination if there is no route for the path and the function has a provider.
 */
export function notFoundDestination(
  match: RouteMatch,
  config: HttpConfig,
  context: ModuleContext<HttpConfig>,
): Destination | undefined {
  const functionId = config.notFoundFunction;
  if (match.kind !== "none" || functionId === undefined) return undefined;
  if (context.directory.functionById(functionId) === undefined) {
    context.log.warn("the function for unknown paths has no provider", { function_id: functionId });
    return undefined;
  }
  return {
    binding: {
      functionId: functionId as FunctionId,
      settings: NOT_FOUND_SETTINGS,
      isAway: false,
      principal: TRUSTED,
      fire: (payload: Payload, options?: CallOptions) => context.call(functionId, payload, options),
      call: (id, payload, options) => context.call(id, payload, options),
      passes: () => Promise.resolve(true),
    },
    path: "*",
    method: "*",
    pathParams: Object.create(null) as Record<string, string>,
    members: "",
    defaultStatus: 404,
  };
}

/**
 * Returns the response to OPTIONS for a path with routes. Throws in all other cases: 405 if the path has only routes
 * for other methods; 503 if there is no route but workers are starting, because one of them may register the route;
 * otherwise 404.
 */
export function responseWithoutRoute(
  match: RouteMatch,
  method: string,
  { rawPath }: RequestTarget,
  context: Pick<ModuleContext<HttpConfig>, "startingWorkers" | "production">,
): RouteResponse {
  const shown = rawPath.slice(0, 200);
  if (match.kind !== "wrong method") {
    refuseWhileStarting(`${method} ${shown}`, context);
    throw new Refusal({ status: 404, code: "NOT_FOUND", message: `no route for ${method} ${shown}` });
  }
  const allow = match.allow.join(", ");
  if (method === "OPTIONS") return { status: 204, headers: ["Allow", allow], body: undefined, dropped: [] };
  throw new Refusal({
    status: 405,
    code: "method_not_allowed",
    message: `${shown} takes ${allow}, not ${method}`,
    headers: { Allow: allow },
  });
}

function refuseWhileStarting(
  request: string,
  { startingWorkers, production }: Parameters<typeof responseWithoutRoute>[3],
): void {
  const names = startingWorkers();
  if (names.length === 0) return;
  const who = production ? "a worker" : names.slice(0, 3).join(", ");
  const are = names.length === 1 || production ? "is" : "are";
  throw new Refusal(
    unavailable("function_not_found", `no route for ${request} yet: ${who} ${are} starting; try again shortly`),
  );
}
