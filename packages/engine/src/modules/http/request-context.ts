import type { CallOptions, TriggerBinding } from "../../kernel/module.ts";
import type { HttpConfig } from "./config.ts";
import type { Fields } from "./fields.ts";
import { RequestHead } from "./request-head.ts";
import type { RequestSpan } from "./request-span.ts";
import type { CorsSettings } from "./response/cors.ts";
import type { Exchange } from "./response/exchanges.ts";
import type { RequestTarget } from "./routing/path.ts";
import type { RouteSettings } from "./routing/route-settings.ts";
import type { RouteMatch } from "./routing/routes.ts";
import type { Client } from "./trusted-proxies.ts";

/** The receiver of a request: the binding of its route, or `not_found_function` if the path has no route. */
export interface Destination {
  readonly binding: Pick<
    TriggerBinding<RouteSettings>,
    "functionId" | "settings" | "isAway" | "principal" | "fire" | "call" | "passes"
  > & {
    readonly id?: string;
  };
  /** Path as registered. */
  readonly path: string;
  readonly method: string;
  readonly pathParams: Record<string, string>;
  /** Text of the JSON members `path`, `method` and `trigger` of the payload, for requests with this method. */
  readonly members: string;
  /** Status of a response that sets none. */
  readonly defaultStatus: number;
}

/** A request being handled. */
export class RequestContext {
  readonly exchange: Exchange;
  /** The config when the request arrived. */
  readonly config: HttpConfig;
  /** The request's head. Requests with equal header lines share it, unless `ownHead` was called. */
  head: RequestHead;
  readonly requestId: string;
  readonly span: RequestSpan;
  /** Trace context of the calls that the request causes. */
  readonly trace: Pick<CallOptions, "traceparent" | "baggage">;
  /** Undefined if the request line is malformed. */
  readonly target: RequestTarget | undefined;
  /** The route that matched when the request arrived. */
  readonly match: RouteMatch | undefined;
  /** Set when the destination is known. */
  destination: Destination | undefined;
  /** The CORS settings of the route if it has its own, otherwise those of svc-http. */
  cors: CorsSettings | undefined;
  /** If one of these functions has no provider, the route is out of service. */
  ownFunctions: readonly (string | undefined)[] = [];

  constructor(facts: RequestContextFacts) {
    this.exchange = facts.exchange;
    this.config = facts.config;
    this.head = facts.head;
    this.requestId = facts.requestId;
    this.span = facts.span;
    this.trace = facts.trace;
    this.target = facts.target;
    this.match = facts.match;
    this.cors = facts.config.cors;
  }

  get headers(): Fields {
    return this.head.headers;
  }

  get client(): Client {
    return this.head.client;
  }

  /** Replaces the shared head by a copy, because middleware may change the headers. */
  ownHead(): void {
    this.head = new RequestHead(this.exchange.request, this.head.proxies);
  }
}

export type RequestContextFacts = Pick<
  RequestContext,
  "exchange" | "config" | "head" | "requestId" | "span" | "trace" | "target" | "match"
>;
