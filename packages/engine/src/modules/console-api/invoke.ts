import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  CallError,
  functionIdSchema,
  MAX_PAYLOAD_DEPTH,
  MAX_TIMEOUT_MS,
  memberTexts,
  nestsDeeperThan,
  Payload,
} from "@svc-runtime/protocol";
import { z } from "zod";
import { addTrigger } from "../../deliveries/trigger-span.ts";
import type { CallOptions, ModuleContext } from "../../kernel/module.ts";
import type { ActiveSpan } from "../../kernel/telemetry-contract.ts";
import { sendCallError, sendError, sendJson } from "./respond.ts";

export interface InvokeRules {
  readonly enabled: boolean;
  /**
   * Returns true if a page of this origin may call functions. `undefined` means that the request does not come from a
   * page.
   */
  originIsAllowed(origin: string | undefined): boolean;
  /** Returns true if the browser's `Sec-Fetch-Site` does not name another site. */
  fetchSiteIsSafe(request: IncomingMessage): boolean;
}

/** Function of svc-queue that adds a job to a queue. */
const ENQUEUE = "engine::queue::enqueue";
/** Maximum size of a request body, in bytes. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

const bodySchema = z
  .object({
    function_id: functionIdSchema,
    payload: z.unknown().optional(),
    input: z.unknown().optional(),
    data: z.unknown().optional(),
    timeout_ms: z.number().int().min(1).max(MAX_TIMEOUT_MS).optional(),
    mode: z.enum(["sync", "void", "enqueue"]).default("sync"),
    queue: z.string().min(1).max(256).optional(),
    metadata: z.unknown().optional(),
  })
  .strict();

/**
 * Calls the function that the body names. Responds with its result, or with `{"error":{...}}` and a matching status.
 */
export async function answerInvoke(own: {
  request: IncomingMessage;
  response: ServerResponse;
  context: ModuleContext<unknown>;
  rules: InvokeRules;
}): Promise<void> {
  const { request, response, context, rules } = own;
  if (request.method !== "POST") {
    sendError(response, 405, "method_not_allowed", "/_console/invoke takes POST", { headers: { allow: "POST" } });
    return;
  }
  const refusal = refusalOf(request, rules);
  if (refusal !== undefined) {
    sendError(response, refusal.status, refusal.code, refusal.message);
    return;
  }
  const body = await readBody(request);
  if (body === undefined) {
    sendError(response, 413, "payload_too_large", `the body is over ${MAX_BODY_BYTES} bytes`, {
      headers: { connection: "close" },
    });
    return;
  }
  let parsed: Invocation;
  try {
    parsed = parseBody(body);
  } catch (thrown) {
    const error = CallError.from(thrown);
    sendError(response, error.httpStatus, error.code, error.message);
    return;
  }
  await call(parsed, response, context);
}

/**
 * Returns the refusal of a request from a page of another site. The content type must be JSON, because such a page can
 * send a form or plain text without a CORS preflight, but not JSON.
 */
function refusalOf(
  request: IncomingMessage,
  rules: InvokeRules,
): { readonly status: number; readonly code: string; readonly message: string } | undefined {
  if (!rules.originIsAllowed(request.headers.origin)) {
    return {
      status: 403,
      code: "FORBIDDEN",
      message: `the origin ${JSON.stringify(request.headers.origin)} may not call functions; add it to engine.allowed_origins`,
    };
  }
  if (!rules.fetchSiteIsSafe(request))
    return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
  const mediaType = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json")
    return {
      status: 415,
      code: "unsupported_media_type",
      message: "send the body with Content-Type: application/json",
    };
  return undefined;
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Names of the payload member; the first that is present is used. */
const PAYLOAD_NAMES: readonly string[] = ["payload", "input", "data"];

type Invocation = Omit<z.output<typeof bodySchema>, "payload"> & { readonly payload: Payload };

function parseBody(body: Buffer): Invocation {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    value = JSON.parse(text);
  } catch (cause) {
    throw new CallError("invalid_json", `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
  const parsed = bodySchema.safeParse(value);
  if (parsed.success) return { ...parsed.data, payload: payloadOf(text, parsed.data) };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "the body" : `\`${issue.path.join(".")}\``;
  throw new CallError(
    "invalid_input",
    `${where}: ${issue?.message ?? "malformed"}; expected {"function_id": "...", "payload": ...}`,
  );
}

/**
 * Returns the payload with the text that it has in the body, because parsing and serializing it could change numbers.
 */
function payloadOf(text: string, members: Readonly<Record<string, unknown>>): Payload {
  const name = PAYLOAD_NAMES.find((candidate) => members[candidate] !== undefined);
  if (name === undefined) return Payload.null;
  const payload = memberTexts(text).get(name) as string;
  if (nestsDeeperThan(payload, MAX_PAYLOAD_DEPTH))
    throw new CallError("invalid_json", `\`${name}\` is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`);
  return Payload.fromText(payload);
}

async function call(body: Invocation, response: ServerResponse, context: ModuleContext<unknown>): Promise<void> {
  // Calls of engine functions are not traced: the traces of a console that polls each second would hide all others.
  const span =
    body.function_id.startsWith("engine::") || body.function_id.startsWith("worker::")
      ? undefined
      : beginSpan(body, context);
  const traceparent = span === undefined ? undefined : (span.traceparent ?? newTraceparent());
  const invocationId = randomUUID();
  // Without a span there is no trace to look up, so no trace id is sent.
  const headers = {
    "x-svc-invocation-id": invocationId,
    ...(traceparent === undefined ? {} : { "x-svc-trace-id": traceparent.slice(3, 35) }),
  };
  const { payload } = body;
  const disconnected = new AbortController();
  const onClose = (): void => disconnected.abort();
  response.once("close", onClose);
  const options = {
    invocationId,
    timeoutMs: body.timeout_ms,
    traceparent,
    metadata: body.metadata === undefined ? undefined : Payload.fromValue(body.metadata),
  };
  try {
    if (body.mode === "void") {
      // The response is sent at once; the call's result is only logged.
      context
        .call(body.function_id, payload, options)
        .catch((thrown: unknown) =>
          context.log.info("a void call failed", { functionId: body.function_id, problem: (thrown as Error).message }),
        );
      span?.setAttribute("http.response.status_code", 202);
      span?.end();
      sendJson(response, 202, "null", headers);
      return;
    }
    const result =
      body.mode === "enqueue"
        ? await enqueue(body, payload, context, options)
        : await context.call(body.function_id, payload, { ...options, signal: disconnected.signal });
    // A worker's result is passed on unparsed. If it is not JSON, the call must fail.
    if (!result.isJson())
      throw new CallError("invalid_message", `${body.function_id} answered with something that is not JSON`, {
        details: { executed: "yes" },
      });
    sendJson(response, 200, result.text(), headers);
    span?.setAttribute("http.response.status_code", 200);
    span?.end();
  } catch (thrown) {
    const error = CallError.from(thrown);
    span?.setAttribute("http.response.status_code", error.httpStatus);
    span?.end({ error });
    const retry = error.httpStatus === 503 ? { ...headers, "retry-after": "1" } : headers;
    sendCallError(response, error, retry);
  } finally {
    response.off("close", onClose);
  }
}

function beginSpan({ function_id, mode }: Invocation, { telemetry }: ModuleContext<unknown>): ActiveSpan {
  const attributes = addTrigger(
    { "http.request.method": "POST", "http.route": "/_console/invoke", "svc.console.mode": mode },
    "console",
  );
  return telemetry.startSpan({ name: `console ${function_id}`, kind: "server", attributes });
}

/**
 * Returns a new trace context. It is used if the engine records no spans, so that the callee and the functions that it
 * calls nevertheless share a trace id.
 */
function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}

async function enqueue(
  body: Invocation,
  payload: Payload,
  context: ModuleContext<unknown>,
  options: CallOptions,
): Promise<Payload> {
  const job = {
    queue: body.queue ?? "default",
    function_id: body.function_id,
    data: payload.value(),
    messageReceiptId: randomUUID(),
    traceparent: options.traceparent,
  };
  context.rememberFunction(body.function_id);
  try {
    return await context.call(ENQUEUE, Payload.fromValue(job), options);
  } catch (thrown) {
    const error = CallError.from(thrown);
    if (error.code !== "function_not_found") throw error;
    throw new CallError(
      "enqueue_error",
      `no queue is installed (${ENQUEUE} has no provider); add one with: svc worker add svc-queue`,
      { cause: thrown },
    );
  }
}
