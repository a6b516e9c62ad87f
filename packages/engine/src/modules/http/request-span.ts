import type { CallError } from "@svc-runtime/protocol";
import { addTrigger } from "../../deliveries/trigger-span.ts";
import type { ActiveSpan, SpanAttributes, Telemetry } from "../../kernel/telemetry-contract.ts";
import type { TraceHeaders } from "./request.ts";
import type { Exchange } from "./response/exchanges.ts";
import type { RouteMatch } from "./routing/routes.ts";
import type { Client } from "./trusted-proxies.ts";

/** Maximum length of a path or a user agent in a span. */
const MAX_TEXT = 1_024;

export interface RequestFacts {
  readonly exchange: Exchange;
  readonly match: RouteMatch | undefined;
  readonly client: Client;
  readonly userAgent: string | undefined;
  readonly requestId: string;
  readonly trace: TraceHeaders;
  /** See `trust_traceparent` in the config. */
  readonly trustsTrace: boolean;
}

/** The span of a request. */
export interface RequestSpan {
  readonly traceparent: string | undefined;
  /** Records the response's status. An error is recorded if the status is 500 or above. */
  responded(status: number, error?: CallError | string): void;
  /** Records that the response failed after its start was sent. */
  aborted(reason: string): void;
}

/**
 * Starts the span of a request, which ends when the response is sent or the client disconnects. It is named `POST
 * /orders/:id`, or the method alone if there is no route. Attributes follow OpenTelemetry's semantic conventions for
 * HTTP servers.
 */
export function beginRequestSpan(telemetry: Pick<Telemetry, "startSpan">, facts: RequestFacts): RequestSpan {
  const { exchange, match, trace, trustsTrace } = facts;
  const { method = "" } = exchange.request;
  const route = match?.kind === "found" ? match.holder.pattern.path : undefined;
  const span = telemetry.startSpan({
    name: route === undefined ? method : `${method} ${route}`,
    kind: "server",
    traceparent: trustsTrace ? trace.traceparent : undefined,
    baggage: trustsTrace ? trace.baggage : undefined,
    links: trustsTrace || trace.traceparent === undefined ? undefined : [trace.traceparent],
    attributes: () => attributesOf(facts, method, route),
  });
  return new OpenRequestSpan(span, exchange);
}

function attributesOf(
  { exchange, match, client, userAgent, requestId }: RequestFacts,
  method: string,
  route: string | undefined,
): SpanAttributes {
  const { request } = exchange;
  const trigger = match?.kind === "found" ? { type: "http", id: match.holder.binding.id } : undefined;
  const attributes = {
    "http.request.method": method,
    // Without the query, which may contain secrets.
    "url.path": pathOf(request.url ?? "").slice(0, MAX_TEXT),
    "url.scheme": client.protocol,
    "client.address": client.address,
    "network.protocol.version": request.httpVersion,
    "svc.http.request_id": requestId,
    "http.route": route,
    "user_agent.original": userAgent?.slice(0, MAX_TEXT),
  };
  return addTrigger(attributes, "http", trigger);
}

function pathOf(url: string): string {
  const mark = url.indexOf("?");
  return mark === -1 ? url : url.slice(0, mark);
}

class OpenRequestSpan implements RequestSpan {
  readonly #span: ActiveSpan;
  #error: CallError | string | undefined;

  constructor(span: ActiveSpan, exchange: Exchange) {
    this.#span = span;
    exchange.onEnd(() => span.end({ error: this.#error }));
  }

  get traceparent(): string | undefined {
    return this.#span.traceparent;
  }

  responded(status: number, error?: CallError | string): void {
    this.#span.setAttribute("http.response.status_code", status);
    if (status < 500) return;
    this.#error = error ?? `answered ${status}`;
    this.#span.setAttribute("error.type", typeof error === "object" ? error.code : String(status));
  }

  aborted(reason: string): void {
    this.#error ??= reason;
  }
}
