import { randomBytes } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { HttpConfig } from "../config.ts";
import { type Failure, publicFailure } from "../refusal.ts";
import type { Destination, RequestContext } from "../request-context.ts";
import type { RequestCounts } from "../request-counts.ts";
import type { RouteOutcome } from "../route-call.ts";
import { withCommonHeaders } from "./common-headers.ts";
import { compressed, isLongEnough } from "./compression.ts";
import { responseOfFailure } from "./error-response.ts";
import { sendStream } from "./response-stream.ts";
import type { RouteResponse } from "./route-response.ts";
import { sendResponse } from "./send.ts";

/**
 * Maximum number of dropped headers that are logged for each binding. Their names are stored, so that each is logged
 * once.
 */
const MAX_REMEMBERED_NAMES = 64;

/** Sends responses, both for results of functions and for failures. */
export class Delivery {
  readonly #context: ModuleContext<HttpConfig>;
  readonly #counts: RequestCounts;
  readonly #droppedHeaders = new WeakMap<object, Set<string>>();

  constructor(context: ModuleContext<HttpConfig>, counts: RequestCounts) {
    this.#context = context;
    this.#counts = counts;
  }

  /** Sends the response. Compresses it if the client supports this and the body is large enough. */
  async deliver(requestContext: RequestContext, { routeResponse, stream }: RouteOutcome): Promise<void> {
    const { exchange, config, headers } = requestContext;
    const { clock } = this.#context;
    const complete = withCommonHeaders(requestContext, routeResponse);
    this.#counts.responded(complete.status);
    if (stream !== undefined) {
      await sendStream(exchange, { status: complete.status, headers: complete.headers, ...stream }, clock);
      if (stream.reader.ended === "aborted") requestContext.span.aborted("the response was aborted before its end");
      return;
    }
    const compresses = requestContext.destination?.binding.settings.compression ?? config.compression;
    const mayCompress = compresses && isLongEnough(complete) && exchange.request.method !== "HEAD" && !exchange.isOver;
    sendResponse(exchange, mayCompress ? await compressed(complete, headers.single["accept-encoding"]) : complete, {
      clock,
      bodyLimitBytes: config.bodyLimitBytes,
    });
  }

  /** Logs headers of a function's response that were omitted, each once. */
  warnOfDropped(destination: Destination, dropped: readonly string[]): void {
    const { binding } = destination;
    let known = this.#droppedHeaders.get(binding);
    if (known === undefined) {
      known = new Set();
      this.#droppedHeaders.set(binding, known);
    }
    const names = known;
    const fresh = dropped.filter((name) => !names.has(name));
    if (fresh.length === 0 || names.size >= MAX_REMEMBERED_NAMES) return;
    for (const name of fresh) names.add(name);
    this.#context.log.warn("headers of a function's response were dropped", {
      function_id: binding.functionId,
      route: `${destination.method} ${destination.path}`,
      headers: fresh,
    });
  }

  /** Logs a failure and returns its response. */
  responseOfFailure(requestContext: RequestContext, given: Failure): RouteResponse {
    const failure = this.#context.production ? publicFailure(given) : given;
    const errorId = randomBytes(6).toString("hex");
    const { status, code, message, cause } = failure;
    const { exchange } = requestContext;
    const facts = {
      error_id: errorId,
      request_id: requestContext.requestId,
      method: exchange.request.method,
      // Without the query, which may contain secrets.
      path: exchange.request.url?.split("?", 1)[0],
      function_id: requestContext.destination?.binding.functionId,
      status,
      code,
    };
    const { log } = this.#context;
    if (exchange.isOver) log.debug("a client disconnected before its response", facts);
    else if (status < 500 || cause === undefined)
      log.debug("a request was refused", { ...facts, message_sent: message });
    else if (CallError.is(cause))
      log.warn("a request failed", {
        ...facts,
        reason: given.message,
        message_sent: message,
        stacktrace: cause.stacktrace,
        cause: cause.cause,
      });
    else log.error("the HTTP module failed to handle a request", { ...facts, cause });
    return responseOfFailure(failure, errorId, requestContext.config.errorFormat);
  }
}
