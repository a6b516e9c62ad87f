import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError } from "@svc-runtime/protocol";
import type { ModuleContext } from "../../kernel/module.ts";
import { ThrottledLog } from "../../kernel/throttled-log.ts";
import { FileOffers } from "./body/file-offers.ts";
import { FormSpools } from "./body/form-spool.ts";
import { type HttpConfig, REQUEST_ID_HEADER } from "./config.ts";
import { type Fields, readUrlEncoded } from "./fields.ts";
import { givenRequestId, type IncomingRequest } from "./incoming-request.ts";
import { Limits, limitReached, REQUEST_LIMIT } from "./limits/limits.ts";
import { inOrder } from "./middleware/middleware.ts";
import { failureOf, Refusal, unavailable } from "./refusal.ts";
import { NO_FIELDS, traceHeaders } from "./request.ts";
import { type Destination, RequestContext } from "./request-context.ts";
import { RequestCounts } from "./request-counts.ts";
import { headOf } from "./request-head.ts";
import { beginRequestSpan } from "./request-span.ts";
import { preflightHeaders, preflightOf, withCors } from "./response/cors.ts";
import { Delivery } from "./response/delivery.ts";
import { responseOfFailure } from "./response/error-response.ts";
import { type Exchange, Exchanges } from "./response/exchanges.ts";
import type { RouteResponse } from "./response/route-response.ts";
import { sendResponse } from "./response/send.ts";
import { RouteCall, type RouteCallParts, type RouteOutcome } from "./route-call.ts";
import { notFoundDestination, responseWithoutRoute } from "./routing/not-found.ts";
import { type RequestTarget, readTarget } from "./routing/path.ts";
import type { RouteMatch, RouteTable } from "./routing/routes.ts";
import type { MiddlewareEntry } from "./routing/setting-parts.ts";
import { type TrustedProxies, trustedProxies } from "./trusted-proxies.ts";

const NO_MIDDLEWARE: readonly MiddlewareEntry[] = [];

/** Handles HTTP requests with the functions bound to their routes. */
export class RequestHandler {
  readonly #routes: RouteTable;
  readonly #context: ModuleContext<HttpConfig>;
  readonly #exchanges: Exchanges;
  readonly #counts = new RequestCounts();
  readonly #fileOffers: FileOffers;
  readonly #limits: Limits;
  readonly #refusals: ThrottledLog;
  readonly #delivery: Delivery;
  #config: HttpConfig;
  #proxies: TrustedProxies;
  #stopping = false;

  constructor(routes: RouteTable, context: ModuleContext<HttpConfig>) {
    this.#routes = routes;
    this.#context = context;
    this.#limits = new Limits(context.clock);
    this.#delivery = new Delivery(context, this.#counts);
    this.#refusals = new ThrottledLog(context.clock);
    this.#exchanges = new Exchanges(() => context.newChannelId());
    this.#fileOffers = new FileOffers(new FormSpools(context), () => context.newChannelId());
    context.resolveChannels((id) => this.#exchanges.channelsOf(id) ?? this.#fileOffers.find(id));
    context.telemetry.provideMeasurements(() => this.#counts.measure(this.#exchanges.open));
    this.#config = context.config;
    this.#proxies = trustedProxies(context.config.trustedProxies);
  }

  /** Sets the config for new requests. Requests in flight keep the previous config. */
  reconfigure(config: HttpConfig): void {
    this.#config = config;
    this.#proxies = trustedProxies(config.trustedProxies);
  }

  /**
   * Stops accepting requests. Resolves when all open requests have a response. If the grace period ends first, the
   * calls of the remaining requests are cancelled.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#context.signal.addEventListener("abort", () => this.#exchanges.abortAll(), { once: true });
    await this.#exchanges.whenIdle();
    await this.#fileOffers.spools.settled();
  }

  /** Handles one request. Never rejects: every failure becomes a response, if the client is still connected. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = this.#exchanges.begin(request, response);
    if (this.#limits.isFull(this.#config) && !this.#stopping) return this.#refuseAtLimit(exchange);
    const requestContext = this.#requestContext(exchange);
    let outcome: RouteOutcome;
    try {
      outcome = await this.#respond(requestContext);
      requestContext.span.responded(outcome.routeResponse.status);
    } catch (thrown) {
      const failure = failureOf(thrown, requestContext.ownFunctions);
      outcome = { routeResponse: this.#delivery.responseOfFailure(requestContext, failure), stream: undefined };
      requestContext.span.responded(
        failure.status,
        CallError.is(failure.cause) ? failure.cause : `${failure.code}: ${failure.message}`,
      );
    }
    await this.#delivery.deliver(requestContext, outcome);
  }

  /**
   * Refuses a request because the limit of concurrent requests is reached. Parses nothing, so that a refusal costs less
   * than a served request. Creates no span, so that a flood of requests does not evict the spans of served requests.
   */
  #refuseAtLimit(exchange: Exchange): void {
    const { clock, log } = this.#context;
    const { concurrentRequests: limit, bodyLimitBytes, cors, errorFormat } = this.#config;
    const routeResponse = responseOfFailure(limitReached(limit, REQUEST_LIMIT), exchange.id.slice(-12), errorFormat);
    const headers =
      cors === undefined
        ? routeResponse.headers
        : withCors(routeResponse.headers, cors, exchange.request.headers.origin);
    this.#counts.responded(routeResponse.status);
    this.#refusals.warn(log, "", "a request was refused: the limit of concurrent requests is reached", {
      limit,
      setting: REQUEST_LIMIT,
    });
    sendResponse(
      exchange,
      { ...routeResponse, headers: [...headers, "X-Request-Id", exchange.id] },
      { clock, bodyLimitBytes },
    );
  }

  #requestContext(exchange: Exchange): RequestContext {
    const { request } = exchange;
    const config = this.#config;
    const head = headOf(request, this.#proxies, exchange.connection);
    const { client, headers } = head;
    // By default only trusted proxies set the request id, since a forged id in the log is misleading.
    const idHeader = config.requestIdHeader ?? (client.cameByProxy ? REQUEST_ID_HEADER : undefined);
    const requestId = (idHeader === undefined ? undefined : givenRequestId(headers, idHeader)) ?? exchange.id;
    const target = targetOf(request);
    const match = target === undefined ? undefined : this.#match(request.method ?? "", target.path);
    const given = traceHeaders(headers);
    const trustsTrace = config.trustTraceparent;
    const span = beginRequestSpan(this.#context.telemetry, {
      exchange,
      match,
      client,
      userAgent: headers.single["user-agent"],
      requestId,
      trace: given,
      trustsTrace,
    });
    const trace = { traceparent: span.traceparent, baggage: trustsTrace ? given.baggage : undefined };
    return new RequestContext({ exchange, config, head, requestId, span, trace, target, match });
  }

  /** Returns the response, or a promise if the request must wait. Throws or rejects if it is refused. */
  #respond(requestContext: RequestContext): RouteOutcome | Promise<RouteOutcome> {
    if (this.#stopping)
      throw new Refusal(unavailable("draining", "the engine is shutting down or svc-http is being removed"));
    const admitted = this.#limits.admit(requestContext);
    // After waiting in the queue, match again, since routes may have changed.
    if (admitted !== undefined) return admitted.then(() => this.#respondAdmitted(requestContext, undefined));
    return this.#respondAdmitted(requestContext, requestContext.match);
  }

  #respondAdmitted(
    requestContext: RequestContext,
    known: RouteMatch | undefined,
  ): RouteOutcome | Promise<RouteOutcome> {
    const { exchange, config } = requestContext;
    const { request } = exchange;
    const method = request.method ?? "";
    const target = requestContext.target ?? readTarget(request.url ?? "/");
    const preflight = preflightOf(method, request.headers);
    if (preflight !== undefined) {
      const routeResponse = this.#preflightResponse(requestContext, preflight, target);
      if (routeResponse !== undefined) return { routeResponse, stream: undefined };
    }
    const match = known ?? this.#match(method, target.path);
    const destination =
      match.kind === "found" ? destinationOf(match) : notFoundDestination(match, config, this.#context);
    if (destination === undefined)
      return { routeResponse: responseWithoutRoute(match, method, target, this.#context), stream: undefined };

    const { binding } = destination;
    const { settings } = binding;
    requestContext.destination = destination;
    if (settings.cors !== undefined) requestContext.cors = settings.cors === false ? undefined : settings.cors;
    // The route is out of service even if another worker provides its function. The worker that bound the function to
    // the path is responsible for the route.
    if (binding.isAway)
      throw new Refusal(unavailable("function_not_found", `the worker that serves ${destination.path} is away`));
    const middleware =
      config.middleware.length === 0 && settings.middleware.length === 0
        ? NO_MIDDLEWARE
        : inOrder([config.middleware, settings.middleware]);
    requestContext.ownFunctions = [
      binding.functionId,
      settings.conditionFunctionId,
      ...middleware.map(({ functionId }) => functionId),
    ];
    this.#limits.admitForPrincipal(requestContext, binding.principal);
    if (middleware.length > 0) requestContext.ownHead();
    const admitted = this.#limits.admitToRoute(requestContext, binding, settings);
    const run = () => this.#run(requestContext, { destination, target, middleware });
    return admitted === undefined ? run() : admitted.then(run);
  }

  async #run(
    requestContext: RequestContext,
    { destination, target, middleware }: Pick<RouteCallParts, "destination" | "middleware"> & { target: RequestTarget },
  ): Promise<RouteOutcome> {
    const incoming: IncomingRequest = {
      requestId: requestContext.requestId,
      method: requestContext.exchange.request.method ?? "",
      target,
      client: requestContext.client,
      headers: requestContext.headers,
      pathParams: destination.pathParams,
      query: readQuery(target),
    };
    const call = new RouteCall({
      requestContext,
      destination,
      incoming,
      middleware,
      context: this.#context,
      fileOffers: this.#fileOffers,
    });
    try {
      const outcome = await call.run();
      if (outcome.routeResponse.dropped.length > 0)
        this.#delivery.warnOfDropped(destination, outcome.routeResponse.dropped);
      if (outcome.stream === undefined) call.release();
      return outcome;
    } catch (error) {
      call.release();
      throw error;
    }
  }

  #match(method: string, path: string): RouteMatch {
    const match = this.#routes.match(method, path);
    if (!this.#config.ignoreTrailingSlash || path === "/") return match;
    const otherPath = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    // A route of a restricted principal that differs from a trusted route only by the slash must not receive the
    // requests of the trusted route.
    const [isTrusted, otherIsTrusted] = [this.#routes.isOfTrusted(path), this.#routes.isOfTrusted(otherPath)];
    if (isTrusted !== otherIsTrusted) return isTrusted ? match : this.#routes.match(method, otherPath);
    if (match.kind === "found") return match;
    const other = this.#routes.match(method, otherPath);
    return match.kind === "none" || other.kind === "found" ? other : match;
  }

  /**
   * Returns the response to a preflight, or undefined if there is no route or there are no CORS settings for the path.
   */
  #preflightResponse(
    requestContext: RequestContext,
    preflight: NonNullable<ReturnType<typeof preflightOf>>,
    target: RequestTarget,
  ): RouteResponse | undefined {
    const asked = this.#match(preflight.method, target.path);
    if (asked.kind === "none") return undefined;
    const ofRoute = asked.kind === "found" ? asked.holder.binding.settings.cors : undefined;
    const cors = ofRoute === undefined ? requestContext.config.cors : ofRoute;
    requestContext.cors = undefined;
    if (cors === undefined || cors === false) return undefined;
    const methods = this.#routes.methodsOf(target.path);
    return {
      status: 204,
      headers: ["Allow", methods.join(", "), ...preflightHeaders(cors, preflight, methods)],
      body: undefined,
      dropped: [],
    };
  }
}

/** Returns undefined if the target cannot be parsed; the request is refused later. */
function targetOf(request: IncomingMessage): RequestTarget | undefined {
  try {
    return readTarget(request.url ?? "/");
  } catch {
    return undefined;
  }
}

function destinationOf({ holder, pathParams }: Extract<RouteMatch, { kind: "found" }>): Destination {
  return {
    binding: holder.binding,
    path: holder.pattern.path,
    method: holder.method,
    pathParams,
    members: holder.members,
    defaultStatus: 200,
  };
}

function readQuery({ rawQuery }: RequestTarget): Fields {
  if (rawQuery === "") return NO_FIELDS;
  const query = readUrlEncoded(rawQuery);
  if ("problem" in query)
    throw new Refusal({ status: 400, code: "invalid_request", message: `the query string ${query.problem}` });
  return query;
}
