import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError } from "@svc/protocol";
import type { CallOptions, ModuleContext } from "../../kernel/module.ts";
import { type Answer, answerOf, answerOfFailure } from "./answer.ts";
import { bodyAsJson, readBody } from "./body.ts";
import type { HttpConfig } from "./config.ts";
import { type Exchange, Exchanges } from "./exchanges.ts";
import { emptyFields, type Fields, readHeaders, readUrlEncoded } from "./fields.ts";
import { type RequestTarget, readTarget } from "./path.ts";
import { type Failure, failureOf, Refusal, unavailable } from "./refusal.ts";
import { requestPayload, traceHeaders } from "./request.ts";
import type { RouteHolder, RouteMatch, RouteTable } from "./routes.ts";
import { sendAnswer } from "./send.ts";

/** Names of dropped headers that are remembered for each function, so that each is logged once. */
const MAX_REMEMBERED_NAMES = 64;

/** Answers HTTP requests with the functions that are bound to their routes. */
export class RequestHandler {
  readonly #routes: RouteTable;
  readonly #context: ModuleContext<HttpConfig>;
  readonly #exchanges = new Exchanges();
  readonly #droppedHeaders = new WeakMap<RouteHolder, Set<string>>();
  #config: HttpConfig;
  #inWork = 0;
  #stopping = false;

  constructor(routes: RouteTable, context: ModuleContext<HttpConfig>) {
    this.#routes = routes;
    this.#context = context;
    this.#config = context.config;
  }

  /** Holds for requests that come from now on. */
  reconfigure(config: HttpConfig): void {
    this.#config = config;
  }

  /** Takes no new requests and resolves when those under way are answered; when the grace period ends their calls are withdrawn. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#context.signal.addEventListener("abort", () => this.#exchanges.abortAll(), { once: true });
    await this.#exchanges.whenIdle();
  }

  /** Answers one request. Never rejects: whatever goes wrong becomes an answer, if there is someone to read it. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = this.#exchanges.begin(request, response);
    const config = this.#config;
    const own: OwnFunctions = { holder: undefined };
    let answer: Answer;
    try {
      this.#admit(exchange, config);
      answer = await this.#answer(exchange, config, own);
    } catch (thrown) {
      const { binding } = own.holder ?? {};
      answer = this.#answerOfFailure(exchange, failureOf(thrown, [binding?.functionId, binding?.settings.conditionFunctionId]), binding?.functionId);
    }
    sendAnswer(exchange, answer, { clock: this.#context.clock, bodyLimitBytes: config.bodyLimitBytes });
  }

  #admit(exchange: Exchange, config: HttpConfig): void {
    if (this.#stopping) throw new Refusal(unavailable("draining", "the engine is shutting down or svc-http is being removed"));
    if (this.#inWork >= config.concurrentRequests) {
      throw new Refusal(
        unavailable("overloaded", `${config.concurrentRequests} requests are in work, which is the limit (concurrency_request_limit of svc-http)`),
      );
    }
    this.#inWork++;
    exchange.onEnd(() => {
      this.#inWork--;
    });
  }

  async #answer(exchange: Exchange, config: HttpConfig, own: OwnFunctions): Promise<Answer> {
    const { request } = exchange;
    const method = request.method ?? "";
    const target = readTarget(request.url ?? "/");
    const match = this.#routes.match(method, target.path);
    if (match.kind !== "found") return answerWithoutRoute(match, method, target.rawPath);
    own.holder = match.holder;
    const { binding } = match.holder;
    const timeoutMs = binding.settings.timeoutMs ?? config.defaultTimeoutMs;
    const headers = readHeaders(request.rawHeaders);
    const query = readQuery(target);
    const raw = await readBody(request, { limitBytes: config.bodyLimitBytes, timeoutMs, clock: this.#context.clock });
    const body = bodyAsJson(raw, headers.all);
    const payload = requestPayload({ request, requestId: exchange.id, target, holder: match.holder, pathParams: match.pathParams, query, headers, body });
    const options: CallOptions = { timeoutMs, signal: exchange.signal, ...traceHeaders(headers) };
    if (binding.settings.conditionFunctionId !== undefined && !(await binding.passes(payload, options))) {
      throw new Refusal({
        status: 422,
        code: "CONDITION_NOT_MET",
        message: `the condition of this route (${binding.settings.conditionFunctionId}) was not met`,
      });
    }
    const answer = answerOf(await binding.fire(payload, options), binding.functionId);
    if (answer.dropped.length > 0) this.#warnOfDropped(match.holder, answer.dropped);
    return answer;
  }

  #warnOfDropped(holder: RouteHolder, dropped: readonly string[]): void {
    let known = this.#droppedHeaders.get(holder);
    if (known === undefined) {
      known = new Set();
      this.#droppedHeaders.set(holder, known);
    }
    const fresh = dropped.filter((name) => !known.has(name));
    if (fresh.length === 0 || known.size >= MAX_REMEMBERED_NAMES) return;
    for (const name of fresh) known.add(name);
    this.#context.log.warn("headers of a function's answer were left out", {
      function_id: holder.binding.functionId,
      route: routeName(holder),
      headers: fresh,
    });
  }

  #answerOfFailure(exchange: Exchange, failure: Failure, functionId: string | undefined): Answer {
    const errorId = randomBytes(6).toString("hex");
    const { status, code, message, cause } = failure;
    const facts = {
      error_id: errorId,
      request_id: exchange.id,
      method: exchange.request.method,
      // Without the query, which may hold secrets.
      path: exchange.request.url?.split("?", 1)[0],
      function_id: functionId,
      status,
      code,
    };
    const { log } = this.#context;
    if (exchange.isOver) log.debug("a client left before its answer", facts);
    else if (status < 500 || cause === undefined) log.debug("a request was refused", { ...facts, message_sent: message });
    else if (CallError.is(cause)) log.warn("a request failed", { ...facts, message_sent: message, stacktrace: cause.stacktrace, cause: cause.cause });
    else log.error("the HTTP module failed to answer a request", { ...facts, cause });
    return answerOfFailure(failure, errorId);
  }
}

/** Filled in when the route is known. */
interface OwnFunctions {
  holder: RouteHolder | undefined;
}

const NO_FIELDS: Fields = emptyFields();

function readQuery({ rawQuery }: RequestTarget): Fields {
  if (rawQuery === "") return NO_FIELDS;
  const query = readUrlEncoded(rawQuery);
  if ("problem" in query) throw new Refusal({ status: 400, code: "invalid_request", message: `the query string ${query.problem}` });
  return query;
}

/** OPTIONS is answered for every path that exists; anything else is 404 or 405. */
function answerWithoutRoute(match: Exclude<RouteMatch, { kind: "found" }>, method: string, rawPath: string): Answer {
  const shown = rawPath.slice(0, 200);
  if (match.kind === "none") throw new Refusal({ status: 404, code: "NOT_FOUND", message: `no route for ${method} ${shown}` });
  const allow = match.allow.join(", ");
  if (method === "OPTIONS") return { status: 204, headers: ["Allow", allow], body: undefined, dropped: [] };
  throw new Refusal({ status: 405, code: "method_not_allowed", message: `${shown} takes ${allow}, not ${method}`, headers: { Allow: allow } });
}

function routeName({ method, pattern }: RouteHolder): string {
  return `${method} ${pattern.path}`;
}
