import { CallError, Payload } from "@svc-runtime/protocol";
import type { CallOptions } from "../../../kernel/module.ts";
import { emptyFields } from "../fields.ts";
import type { IncomingRequest } from "../incoming-request.ts";
import { Refusal } from "../refusal.ts";
import { type MatchedTrigger, requestMembers } from "../request.ts";
import { headerValue } from "../response/header-list.ts";
import { type Envelope, isJsonType, type RouteResponse, responseOfEnvelope } from "../response/route-response.ts";
import type { MiddlewareEntry } from "../routing/setting-parts.ts";
import { changedResponse, changeRequest, isObject, malformed } from "./middleware-changes.ts";

/**
 * Values that middleware passes to later middleware and the handler. The object has no prototype, so that a name such
 * as `__proto__` is an ordinary key.
 */
export type MiddlewareContext = Record<string, unknown>;

export interface MiddlewareRun {
  readonly incoming: IncomingRequest;
  readonly trigger: MatchedTrigger;
  readonly context: MiddlewareContext;
  readonly options: CallOptions;
  call(functionId: string, payload: Payload, options: CallOptions): Promise<Payload>;
  /** Returns the body as JSON text; reads it on the first call. */
  body(): Promise<string>;
}

/** Returns the middleware of svc-http and of a route, in execution order. */
export function inOrder(lists: readonly (readonly MiddlewareEntry[])[]): readonly MiddlewareEntry[] {
  return lists.flat().sort((a, b) => a.priority - b.priority);
}

/**
 * Runs middleware before the handler. Returns the response of the first that responds, or undefined if all continue.
 * Any failure fails the request.
 */
export async function runBefore(
  entries: readonly MiddlewareEntry[],
  run: MiddlewareRun,
): Promise<RouteResponse | undefined> {
  for (const entry of entries) {
    const result = await resultOf(entry, run);
    const routeResponse = responseOf(entry, result);
    if (routeResponse !== undefined) return routeResponse;
    mergeContext(entry, result.context, run.context);
    if (result.request !== undefined && result.request !== null) changeRequest(entry, result.request, run.incoming);
  }
  return undefined;
}

/**
 * Runs middleware after the handler. It may change or replace the response; of a streamed response it sees and changes
 * only the headers.
 */
export async function runAfter(
  entries: readonly MiddlewareEntry[],
  run: MiddlewareRun,
  given: RouteResponse,
  isStreamed: boolean,
): Promise<RouteResponse> {
  let routeResponse = given;
  for (const entry of entries) {
    const result = await resultOf(entry, run, routeResponse, isStreamed);
    if (isStreamed && result.action === "respond") throw malformed(entry, "respond to an answer that streams already");
    routeResponse = responseOf(entry, result) ?? changedResponse(entry, result.response, routeResponse, isStreamed);
    mergeContext(entry, result.context, run.context);
  }
  return routeResponse;
}

type Result = Readonly<Record<string, unknown>>;

async function resultOf(
  entry: MiddlewareEntry,
  run: MiddlewareRun,
  routeResponse?: RouteResponse,
  isStreamed = false,
): Promise<Result> {
  const body = entry.withBody ? `,"body":${await run.body()}` : "";
  const response =
    routeResponse === undefined ? "" : `,"response":${JSON.stringify(shownResponse(routeResponse, isStreamed))}`;
  const payload = Payload.fromText(
    `{"phase":"${entry.phase}","request":{${requestMembers(run.incoming, run.trigger)}${body}}${response},"context":${JSON.stringify(run.context)}}`,
  );
  let value: unknown;
  try {
    value = (await run.call(entry.functionId, payload, run.options)).value();
  } catch (thrown) {
    if (CallError.is(thrown) && thrown.code === "call_timeout") {
      throw new Refusal({
        status: 504,
        code: "MIDDLEWARE_TIMEOUT",
        message: `the middleware ${entry.functionId} did not answer in time`,
        cause: thrown,
      });
    }
    throw thrown;
  }
  if (!isObject(value) || (value.action !== "continue" && value.action !== "respond")) {
    throw malformed(entry, 'something else than {action: "continue"} or {action: "respond", response}');
  }
  return value;
}

/** Returns the response as middleware sees it: a JSON body as a value, any other body as text. */
function shownResponse({ status, headers, body }: RouteResponse, isStreamed: boolean): unknown {
  const all = emptyFields().all as Record<string, string | string[]>;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase();
    const value = headers[at + 1] as string;
    const known = all[name];
    all[name] = known === undefined ? value : [...(typeof known === "string" ? [known] : known), value];
  }
  const common = { status_code: status, headers: all };
  if (isStreamed) return { ...common, streamed: true };
  const text = body?.toString();
  const isJson = text !== undefined && text !== "" && isJsonType(headerValue(headers, "content-type") ?? "");
  return { ...common, body: isJson ? JSON.parse(text) : (text ?? null) };
}

function responseOf(entry: MiddlewareEntry, result: Result): RouteResponse | undefined {
  if (result.action !== "respond") return undefined;
  const response = result.response ?? {};
  if (!isObject(response)) throw malformed(entry, "a response that is not {status_code?, headers?, body?}");
  return responseOfEnvelope({ body: null, ...response } as Envelope, entry.functionId);
}

function mergeContext(entry: MiddlewareEntry, added: unknown, context: MiddlewareContext): void {
  if (added === undefined || added === null) return;
  if (!isObject(added)) throw malformed(entry, "a context that is not an object");
  for (const [name, value] of Object.entries(added)) context[name] = value;
}
