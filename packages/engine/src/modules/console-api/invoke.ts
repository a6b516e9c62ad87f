import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError, functionIdSchema, MAX_PAYLOAD_DEPTH, MAX_TIMEOUT_MS, memberTexts, nestsDeeperThan, Payload } from "@svc/protocol";
import { z } from "zod";
import { occasion } from "../../deliveries/in-span.ts";
import type { CallOptions, ModuleContext } from "../../kernel/module.ts";
import type { ActiveSpan } from "../../kernel/telemetry-contract.ts";
import { sendError, sendJson } from "./respond.ts";

export interface InvokeRules {
  readonly enabled: boolean;
  /** True when a page of this origin may call. Undefined: no page sent it. */
  originIsAllowed(origin: string | undefined): boolean;
  /** True when the browser's `Sec-Fetch-Site` says that it is not another site's doing. */
  fetchSiteIsSafe(request: IncomingMessage): boolean;
}

/** The function that a queue provides. */
const ENQUEUE = "engine::queue::enqueue";
/** Largest request body, in bytes. */
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

/** Calls the function that the body names and answers its result, or `{"error":{...}}` with a fitting status. */
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
    sendError(response, 413, "payload_too_large", `the body is over ${MAX_BODY_BYTES} bytes`, { headers: { connection: "close" } });
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

/** A page of another site can send a form or plain text unasked; it cannot send this content type without asking, and is refused then. */
function refusalOf(request: IncomingMessage, rules: InvokeRules): { readonly status: number; readonly code: string; readonly message: string } | undefined {
  if (!rules.originIsAllowed(request.headers.origin)) {
    return {
      status: 403,
      code: "FORBIDDEN",
      message: `the origin ${JSON.stringify(request.headers.origin)} may not call functions; add it to engine.allowed_origins`,
    };
  }
  if (!rules.fetchSiteIsSafe(request)) return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
  const mediaType = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") return { status: 415, code: "unsupported_media_type", message: "send the body with Content-Type: application/json" };
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

/** The names under which the payload may stand; the first that is there counts. */
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
  throw new CallError("invalid_input", `${where}: ${issue?.message ?? "malformed"}; expected {"function_id": "...", "payload": ...}`);
}

/** The payload with the text it has in the body: numbers keep their digits. */
function payloadOf(text: string, members: Readonly<Record<string, unknown>>): Payload {
  const name = PAYLOAD_NAMES.find((candidate) => members[candidate] !== undefined);
  if (name === undefined) return Payload.null;
  const payload = memberTexts(text).get(name) as string;
  if (nestsDeeperThan(payload, MAX_PAYLOAD_DEPTH)) throw new CallError("invalid_json", `\`${name}\` is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`);
  return Payload.fromText(payload);
}

async function call(body: Invocation, response: ServerResponse, context: ModuleContext<unknown>): Promise<void> {
  // Who looks at the engine itself leaves no trace: a console that asks each second would show nothing but its own questions.
  const span = body.function_id.startsWith("engine::") || body.function_id.startsWith("worker::") ? undefined : beginSpan(body, context);
  const traceparent = span === undefined ? undefined : (span.traceparent ?? newTraceparent());
  const invocationId = randomUUID();
  // Without a trace no id of one: whoever follows it would find nothing.
  const headers = { "x-svc-invocation-id": invocationId, ...(traceparent === undefined ? {} : { "x-svc-trace-id": traceparent.slice(3, 35) }) };
  const { payload } = body;
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  response.once("close", onClose);
  const options = {
    invocationId,
    timeoutMs: body.timeout_ms,
    traceparent,
    metadata: body.metadata === undefined ? undefined : Payload.fromValue(body.metadata),
  };
  try {
    if (body.mode === "void") {
      // Answered as soon as the call is on its way; how it ends is nobody's to wait for.
      context
        .call(body.function_id, payload, options)
        .catch((thrown: unknown) => context.log.info("a void call failed", { functionId: body.function_id, problem: (thrown as Error).message }));
      span?.setAttribute("http.response.status_code", 202);
      span?.end();
      sendJson(response, 202, "null", headers);
      return;
    }
    const result =
      body.mode === "enqueue"
        ? await enqueue(body, payload, context, options)
        : await context.call(body.function_id, payload, { ...options, signal: gone.signal });
    // A worker's answer is passed on unread; if it is not JSON, that must not look like a success.
    if (!result.isJson()) throw new CallError("invalid_message", `${body.function_id} answered with something that is not JSON`);
    sendJson(response, 200, result.text(), headers);
    span?.setAttribute("http.response.status_code", 200);
    span?.end();
  } catch (thrown) {
    const error = CallError.from(thrown);
    span?.setAttribute("http.response.status_code", error.httpStatus);
    span?.end({ error });
    const retry = error.httpStatus === 503 ? { ...headers, "retry-after": "1" } : headers;
    sendError(response, error.httpStatus, error.code, error.message, { details: error.details, headers: retry });
  } finally {
    response.off("close", onClose);
  }
}

function beginSpan({ function_id, mode }: Invocation, { telemetry }: ModuleContext<unknown>): ActiveSpan {
  const attributes = { ...occasion("console"), "http.request.method": "POST", "http.route": "/_console/invoke", "svc.console.mode": mode };
  return telemetry.startSpan({ name: `console ${function_id}`, kind: "server", attributes });
}

/** Nobody records: the callee and what it calls can be found by it all the same. */
function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}

async function enqueue(body: Invocation, payload: Payload, context: ModuleContext<unknown>, options: CallOptions): Promise<Payload> {
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
    throw new CallError("enqueue_error", `no queue is installed (nobody provides ${ENQUEUE}); add one with: svc worker add svc-queue`, { cause: thrown });
  }
}
