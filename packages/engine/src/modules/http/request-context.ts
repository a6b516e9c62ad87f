import type { CallOptions, TriggerBinding } from "../../kernel/module.ts";
import type { CorsSettings } from "./answer/cors.ts";
import type { Exchange } from "./answer/exchanges.ts";
import type { HttpConfig } from "./config.ts";
import type { Fields } from "./fields.ts";
import type { RequestSpan } from "./request-span.ts";
import type { RequestTarget } from "./routing/path.ts";
import type { RouteSettings } from "./routing/route-settings.ts";
import type { RouteMatch } from "./routing/routes.ts";
import type { Client } from "./trusted-proxies.ts";

/** Where a request goes: a route's binding, or the function for paths that no route has. */
export interface Destination {
  readonly binding: Pick<TriggerBinding<RouteSettings>, "functionId" | "settings" | "isAway" | "principal" | "fire" | "passes"> & { readonly id?: string };
  /** Path as registered. */
  readonly path: string;
  readonly method: string;
  readonly pathParams: Record<string, string>;
  /** Status of an answer that names none. */
  readonly defaultStatus: number;
}

/** One request while it is being answered. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** The config that held when it came. */
  readonly config: HttpConfig;
  readonly headers: Fields;
  readonly client: Client;
  readonly requestId: string;
  readonly span: RequestSpan;
  /** For the calls that the request leads to. */
  readonly trace: Pick<CallOptions, "traceparent" | "baggage">;
  /** Undefined when the request line cannot be read. */
  readonly target: RequestTarget | undefined;
  /** Of the routes that there were when it came. */
  readonly match: RouteMatch | undefined;
  /** Set when it is known. */
  destination: Destination | undefined;
  /** What pages of other origins may do; that of the route, when there is one. */
  cors: CorsSettings | undefined;
  /** Functions without which the route is out of service. */
  ownFunctions: readonly (string | undefined)[];
}
