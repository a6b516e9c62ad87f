import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError, memberTexts } from "@svc-runtime/protocol";
import { callRequestSchema, type Hello, httpTestSchema } from "../contract/api.ts";
import { isRead } from "../contract/operations.ts";
import { sendCallLines } from "./call-lines.ts";
import type { EngineHttp } from "./engine-http.ts";
import type { EngineLink } from "./engine-link.ts";
import { sendExport } from "./export-lines.ts";
import { sendHttpTest } from "./http-test.ts";
import { importLines } from "./import-lines.ts";
import { forwardInvoke } from "./invoke-proxy.ts";
import { parseJson, readJsonText, requireJson } from "./json-body.ts";
import type { OwnTraces } from "./own-traces.ts";
import type { Probes } from "./probes.ts";
import { sendData, sendError } from "./respond.ts";

/** Maximum size of the body of a call, in bytes. It is the same as in the engine. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/**
 * Maximum size of a request of the HTTP tester, in bytes. It allows a body of 5 MiB, whose size JSON escapes may
 * double.
 */
const MAX_HTTP_TEST_BYTES = 12 * 1024 * 1024;

export interface ApiParts {
  readonly link: EngineLink;
  readonly http: EngineHttp;
  readonly probes: Probes;
  readonly readOnly: boolean;
  readonly hello: () => Hello;
  readonly traces: OwnTraces;
}

type Answer = (request: IncomingMessage, response: ServerResponse, parts: ApiParts) => Promise<void>;

/** Routes below `/api/` and `/_console/`, by path and method. */
const ROUTES: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
  "/api/hello": { GET: async (_request, response, { hello }) => sendData(response, JSON.stringify(hello())) },
  "/api/probes": {
    GET: async (_request, response, { probes }) => sendData(response, JSON.stringify(await probes.latest())),
    POST: async (request, response, { probes }) => {
      requireJson(request);
      sendData(response, JSON.stringify(await probes.run()));
    },
  },
  "/api/call": { POST: call },
  "/api/calls": { POST: calls },
  "/api/export": { POST: exportOf },
  "/api/import": { POST: importOf },
  "/api/http-request": { POST: httpTest },
  "/_console/invoke": { POST: invoke },
};

/** Handles a request of the page. The caller was already authorized. */
export async function answerApi(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  parts: ApiParts,
): Promise<void> {
  const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  if (route === undefined) {
    sendError(response, 404, { code: "NOT_FOUND", message: `${path} not found` });
    return;
  }
  const answer = Object.hasOwn(route, request.method ?? "") ? route[request.method ?? ""] : undefined;
  if (answer === undefined) {
    const allow = Object.keys(route).join(", ");
    sendError(response, 405, { code: "method_not_allowed", message: `${path} accepts only ${allow}` }, { allow });
    return;
  }
  try {
    await answer(request, response, parts);
  } catch (thrown) {
    const error = CallError.from(thrown);
    sendError(response, error.httpStatus, { code: error.code, message: error.message, details: error.details });
  }
}

async function call(
  request: IncomingMessage,
  response: ServerResponse,
  { link, readOnly, traces }: ApiParts,
): Promise<void> {
  const body = await readJsonText(request, MAX_BODY_BYTES);
  const asked = callRequestSchema.safeParse(parseJson(body));
  if (!asked.success) {
    throw new CallError(
      "invalid_input",
      `the body: ${asked.error.issues[0]?.message ?? "malformed"}; expected {"function_id": "...", "payload": ...}`,
    );
  }
  const { function_id: functionId, timeout_ms: timeoutMs } = asked.data;
  if (readOnly && !isRead(functionId)) {
    rejectChange(response, `${functionId} may change something`);
    return;
  }
  const payload = memberTexts(body).get("payload");
  const closed = closedSignal(response);
  sendData(
    response,
    await traces.record(functionId, () => link.call(functionId, payload, { timeoutMs, signal: closed })),
  );
}

async function calls(request: IncomingMessage, response: ServerResponse, { link, traces }: ApiParts): Promise<void> {
  const body = await readJsonText(request, MAX_BODY_BYTES);
  await sendCallLines(body, response, { link, traces, closed: closedSignal(response) });
}

async function exportOf(request: IncomingMessage, response: ServerResponse, { link }: ApiParts): Promise<void> {
  await sendExport(await readJsonText(request, MAX_BODY_BYTES), response, link);
}

async function importOf(
  request: IncomingMessage,
  response: ServerResponse,
  { link, readOnly }: ApiParts,
): Promise<void> {
  const body = await readJsonText(request, MAX_BODY_BYTES);
  if (readOnly) rejectChange(response, "imports are not allowed");
  else sendData(response, await importLines(body, link, closedSignal(response)));
}

async function invoke(request: IncomingMessage, response: ServerResponse, { http, readOnly }: ApiParts): Promise<void> {
  requireJson(request);
  if (readOnly) rejectChange(response, "calls of your functions are not allowed");
  else await forwardInvoke(request, response, http);
}

async function httpTest(
  request: IncomingMessage,
  response: ServerResponse,
  { http, readOnly }: ApiParts,
): Promise<void> {
  const asked = httpTestSchema.safeParse(parseJson(await readJsonText(request, MAX_HTTP_TEST_BYTES)));
  if (!asked.success) {
    const issue = asked.error.issues[0];
    throw new CallError("invalid_input", `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "malformed"}`);
  }
  if (readOnly) {
    rejectChange(response, "requests to your routes are not allowed");
    return;
  }
  sendData(response, JSON.stringify(await sendHttpTest(asked.data, http, closedSignal(response))));
}

function rejectChange(response: ServerResponse, why: string): void {
  sendError(response, 403, { code: "read_only", message: `this console was started with --read-only; ${why}` });
}

/** Returns a signal that aborts if the page closes the request before the response was sent. */
function closedSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) closed.abort();
  });
  return closed.signal;
}
