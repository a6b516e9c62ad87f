import { checkedOptions, optionNames } from "../names/option-names.ts";
import type { Part } from "../on-demand.ts";
import type { HttpMethod, HttpRouteSettings } from "../registration/trigger-configs.ts";
import { type Registrar, triggerTypeRef } from "../registration/trigger-type-ref.ts";
import { type HttpPart, requestHandler } from "./http.ts";
import { responseFormat, routeFormat } from "./route-format.ts";
import type { HttpRoute, RegisterRoute, RouteHandler, RouteInput, RouteOptions } from "./route-types.ts";

const SETTINGS = [
  "conditionFunctionId",
  "middlewareFunctionIds",
  "timeoutMs",
  "streaming",
  "bodyLimitBytes",
  "formLimitBytes",
  "concurrencyLimit",
  "queueLimit",
  "rateLimit",
  "cors",
  "compression",
] as const satisfies readonly (keyof HttpRouteSettings)[];

const METHODS: readonly HttpMethod[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const OWN = ["params", "query", "headers", "body", "response", "functionId", "description", "metadata"] as const;

type AnyHandler = RouteHandler<string, undefined, undefined, undefined, undefined, undefined>;
type AnyInput = RouteInput<string, undefined, undefined, undefined, undefined>;

/**
 * Routes with checked and typed requests (module `svc-http`). Each method registers a function, and a trigger of type
 * `http` for the function. A request that does not match the schemas gets the response 400 with all problems.
 */
export class WorkerHttp {
  declare readonly get: RegisterRoute;
  declare readonly head: RegisterRoute;
  declare readonly post: RegisterRoute;
  declare readonly put: RegisterRoute;
  declare readonly patch: RegisterRoute;
  declare readonly delete: RegisterRoute;
  declare readonly options: RegisterRoute;

  /** Internal: available as a member of a worker. */
  constructor(worker: Registrar, part: Part<HttpPart>) {
    const registers = METHODS.map((method) => [
      method.toLowerCase(),
      (path: string, options: RouteOptions | AnyHandler, handler?: AnyHandler) =>
        typeof options === "function"
          ? registerRoute(worker, part, method, path, {}, options)
          : registerRoute(worker, part, method, path, options, handler),
    ]);
    Object.assign(this, Object.fromEntries(registers));
  }
}

function registerRoute(
  worker: Registrar,
  part: Part<HttpPart>,
  method: HttpMethod,
  path: string,
  given: RouteOptions,
  handler: AnyHandler | undefined,
): HttpRoute {
  const options = checkedOptions(given, optionNames(`http.${method.toLowerCase()}`, [...OWN, ...SETTINGS]));
  const route = `${method} ${path}`;
  if (typeof handler !== "function") throw new TypeError(`the handler of the route ${route} must be a function`);
  const { params, query, headers, body, response } = options;
  const bodyMode = body === "auto" || body === "stream" ? body : undefined;
  const { schemas, requestFormat } = routeFormat(route, {
    params,
    query,
    headers,
    body: bodyMode === undefined ? body : undefined,
  });
  const config: Record<string, unknown> = { apiPath: path, httpMethod: method, body: bodyMode };
  for (const name of SETTINGS) config[name] = options[name];
  return triggerTypeRef(worker, "http", () => {}).registerFunction(
    options.functionId ?? `http::${route}`,
    requestHandler(part, ({ checkedParts, badRequest }) => async (request, writer, context) => {
      const checked = await checkedParts(request, schemas);
      if ("issues" in checked) return badRequest(route, checked.issues);
      return handler({ ...checked.parts, request } as AnyInput, writer, context);
    }) as never,
    config,
    {
      description: options.description,
      metadata: options.metadata,
      requestFormat,
      responseFormat: responseFormat(route, response),
      // The schemas are checked in this worker. The engine cannot check them, because in the payload all parameters are
      // strings, and the schemas may convert them.
      validate: false,
    },
  );
}
