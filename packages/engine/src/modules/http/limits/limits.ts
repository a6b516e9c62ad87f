import type { Clock } from "../../../kernel/clock.ts";
import { type Principal, Quota } from "../../../kernel/module.ts";
import { type Failure, Refusal, rateLimited, unavailable } from "../refusal.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteSettings } from "../routing/route-settings.ts";
import { RateLimiter, type RateLimitSettings } from "./rate-limit.ts";
import { Semaphore } from "./semaphore.ts";

/** The counters of one route. */
interface RouteCounts {
  readonly semaphore: Semaphore;
  readonly rates: RateLimiter;
}

/** The setting that limits the requests of all routes together. */
export const REQUEST_LIMIT = "concurrency_request_limit of svc-http";

export function limitReached(limit: number, setting: string): Failure {
  return unavailable("overloaded", `${limit} requests are in flight, which is the limit (${setting})`);
}

/** Admission of requests: concurrency limits, and rate limits for each client. */
export class Limits {
  readonly #clock: Clock;
  readonly #semaphore = new Semaphore();
  readonly #rates = new RateLimiter();
  /**
   * Counts the requests in flight on routes of restricted principals. Each principal may use an eighth of the limit,
   * and all restricted principals together may use half.
   */
  readonly #inWork = new Quota("requests in work", () => ({
    each: Math.max(1, Math.floor(this.#limit / 8)),
    restricted: Math.max(1, Math.floor(this.#limit / 2)),
  }));
  #limit = 0;
  /** Keyed by the binding. Only routes with limits have an entry. */
  readonly #routes = new WeakMap<object, RouteCounts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns true if every request is refused: the limit is reached and the queue is full. */
  isFull({ concurrentRequests: limit, queueLimit }: RequestContext["config"]): boolean {
    return this.#semaphore.isFull({ limit, queueLimit });
  }

  /**
   * Admits a request. Returns undefined if it is admitted at once, otherwise a promise that resolves when a place is
   * free. Throws or rejects with 429 or 503.
   */
  admit(requestContext: RequestContext): Promise<void> | undefined {
    const { config } = requestContext;
    if (config.rateLimit !== undefined)
      this.#meter(this.#rates, requestContext, config.rateLimit, "rate_limit of svc-http");
    const limits = { limit: config.concurrentRequests, queueLimit: config.queueLimit };
    return this.#enter(this.#semaphore, limits, requestContext, {
      waitMs: config.defaultTimeoutMs,
      setting: REQUEST_LIMIT,
    });
  }

  /**
   * Counts the request for the principal that owns the route. So if functions of restricted principals do not return,
   * there is still room for the requests of other routes. Throws 503.
   */
  admitForPrincipal({ exchange, config }: RequestContext, principal: Principal): void {
    if (principal.isTrusted) return;
    this.#limit = config.concurrentRequests;
    const problem = this.#inWork.take(principal);
    // The message does not name the owner: any HTTP client can read it.
    if (problem !== undefined)
      throw new Refusal(
        unavailable(
          "overloaded",
          `too many requests are in flight on the routes of this route's owner (a share of ${REQUEST_LIMIT})`,
        ),
      );
    exchange.onEnd(() => this.#inWork.release(principal));
  }

  /** Like `admit`, for a route with its own limits. */
  admitToRoute(requestContext: RequestContext, route: object, settings: RouteSettings): Promise<void> | undefined {
    const { rateLimit, concurrencyLimit, queueLimit, timeoutMs } = settings;
    if (rateLimit === undefined && concurrencyLimit === undefined) return undefined;
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      counts = { semaphore: new Semaphore(), rates: new RateLimiter() };
      this.#routes.set(route, counts);
    }
    if (rateLimit !== undefined) this.#meter(counts.rates, requestContext, rateLimit, "rate_limit of the route");
    if (concurrencyLimit === undefined) return undefined;
    const waitMs = timeoutMs ?? requestContext.config.defaultTimeoutMs;
    return this.#enter(counts.semaphore, { limit: concurrencyLimit, queueLimit }, requestContext, {
      waitMs,
      setting: "concurrency_limit of the route",
    });
  }

  #meter(rates: RateLimiter, { client }: RequestContext, settings: RateLimitSettings, setting: string): void {
    const waitMs = rates.take(client.address ?? "", settings, this.#clock.monotonic());
    if (waitMs > 0)
      throw rateLimited(waitMs, `${settings.requests} requests in ${settings.perMs} ms are allowed (${setting})`);
  }

  #enter(
    semaphore: Semaphore,
    limits: { readonly limit: number; readonly queueLimit: number },
    { exchange }: RequestContext,
    options: { readonly waitMs: number; readonly setting: string },
  ): Promise<void> | undefined {
    if (semaphore.tryAcquire(limits)) {
      exchange.onEnd(() => semaphore.release());
      return undefined;
    }
    const refused = (): Refusal => new Refusal(limitReached(limits.limit, options.setting));
    if (limits.queueLimit === 0) throw refused();
    return semaphore
      .acquire(limits, { clock: this.#clock, waitMs: options.waitMs, onGone: (listener) => exchange.onEnd(listener) })
      .then((isIn) => {
        if (!isIn) throw refused();
        exchange.onEnd(() => semaphore.release());
      });
  }
}
