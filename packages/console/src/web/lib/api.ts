import type { ApiAnswer, ApiError, Hello, HttpTestResult, Probe } from "../../contract/api.ts";
import { LOGIN_HEADER } from "../../contract/login.ts";
import { t } from "../labels/translate.ts";
import { endSession, pageToken, renewPageToken } from "./page-token.ts";
import { workerHistory } from "./worker-history.ts";

/** Failure of a request. `code` is the engine's error code, or `network` if the console's server cannot be reached. */
export class ApiFailure extends Error {
  readonly code: string;
  readonly details: ApiError["details"];
  readonly traceId: string | undefined;
  /** Name of the request, for messages. */
  readonly what: string;

  constructor(what: string, error: ApiError) {
    super(error.message);
    this.name = "ApiFailure";
    this.code = error.code;
    this.details = error.details;
    this.traceId = error.trace_id;
    this.what = what;
  }
}

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Calls one of the engine's own functions. Numbers above 2^53 are rounded. For values of users, use `callText`, which
 * does not round. Rejects with ApiFailure.
 */
export async function call<Result>(
  functionId: string,
  payload: unknown = {},
  options: CallOptions = {},
): Promise<Result> {
  await requireProvider(functionId);
  return dataOf<Result>(
    functionId,
    await postText("/api/call", bodyOf(functionId, JSON.stringify(payload), options), functionId, options.signal),
  );
}

/** Like `call`, with JSON text as payload and result, so that numbers are exact. */
export async function callText(functionId: string, payloadJson: string, options: CallOptions = {}): Promise<string> {
  await requireProvider(functionId);
  const text = await postText("/api/call", bodyOf(functionId, payloadJson, options), functionId, options.signal);
  dataOf(functionId, text);
  // Removes what the server writes around the result: `{"ok":true,"data":...}`.
  return text.slice('{"ok":true,"data":'.length, -1);
}

/**
 * Sends several calls in one request. Yields each result with the position of its call, as soon as it arrives. Rejects
 * with ApiFailure if the request as a whole fails.
 */
export async function* answersOfCalls(
  calls: readonly { readonly functionId: string; readonly payload: unknown }[],
  signal: AbortSignal,
): AsyncGenerator<ApiAnswer<unknown> & { readonly at: number }> {
  const texts = calls.map(({ functionId, payload }) => bodyOf(functionId, JSON.stringify(payload), {}));
  const response = await request("/api/calls", "calls", { method: "POST", body: `{"calls":[${texts}]}`, signal });
  if (!response.ok || response.body === null) {
    dataOf("calls", await response.text());
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = value.split("\n");
    for (const line of lines.slice(0, -1)) {
      yield JSON.parse(parts.join("") + line);
      parts = [];
    }
    parts.push(lines.at(-1) ?? "");
  }
}

export function hello(): Promise<Hello> {
  return get<Hello>("/api/hello");
}

export function probes(): Promise<readonly Probe[]> {
  return get<readonly Probe[]>("/api/probes");
}

/** Makes the console's server check all addresses now. */
export async function probeNow(): Promise<readonly Probe[]> {
  return dataOf<readonly Probe[]>("/api/probes", await postText("/api/probes", "{}", "/api/probes", undefined));
}

/** Sends a request to the engine's HTTP port, for the HTTP tester. */
export async function sendHttp(
  request: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<HttpTestResult> {
  return dataOf<HttpTestResult>(
    t`the HTTP request`,
    await postText("/api/http-request", JSON.stringify(request), t`the HTTP request`, signal),
  );
}

/**
 * Returns the complete lines of an export (`engine::logs::export`, `engine::traces::export`). Returns null if the
 * engine has nothing to export. Rejects if the export is aborted.
 */
export async function exportLines(
  functionId: string,
  payload: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<Blob | null> {
  const init = {
    method: "POST",
    body: JSON.stringify({ function_id: functionId, payload }),
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await request("/api/export", functionId, init);
  if (response.headers.get("content-type")?.startsWith("text/plain")) {
    try {
      return await response.blob();
    } catch (cause) {
      if ((cause as Error).name === "AbortError") throw cause;
      throw new ApiFailure(functionId, { code: "channel_closed", message: t`the export was aborted before its end` });
    }
  }
  return dataOf<null>(functionId, await response.text());
}

/** Sends a request to the console's server. Rejects with ApiFailure, whose `what` is the given name. */
export async function post<Data>(path: string, body: unknown, what: string): Promise<Data> {
  return dataOf<Data>(what, await postText(path, JSON.stringify(body), what, undefined));
}

export interface InvokeAnswer {
  readonly status: number;
  /** JSON text of the result, or of `{"error":{...}}`. */
  readonly text: string;
  readonly invocationId: string | null;
  readonly traceId: string | null;
}

/**
 * Calls a user's function through `POST /_console/invoke`, which the console's server forwards to the engine.
 * `bodyJson` has function_id, payload, mode, …
 */
export async function invoke(bodyJson: string, signal?: AbortSignal): Promise<InvokeAnswer> {
  const response = await request("/_console/invoke", "invoke", {
    method: "POST",
    body: bodyJson,
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    status: response.status,
    text: await response.text(),
    invocationId: response.headers.get("x-svc-invocation-id"),
    traceId: response.headers.get("x-svc-trace-id"),
  };
}

/**
 * Rejects if no worker or module provides the function. It is checked before the request, because pages poll modules
 * that may not be configured. A failed request would log an error in the browser and create a trace in the engine.
 */
export async function requireProvider(functionId: string): Promise<void> {
  if (await workerHistory.mayProvide(functionId)) return;
  throw new ApiFailure(functionId, { code: "function_not_found", message: t`Function ${functionId} not found` });
}

function bodyOf(functionId: string, payloadJson: string, { timeoutMs }: CallOptions): string {
  const timeout = timeoutMs === undefined ? "" : `,"timeout_ms":${timeoutMs}`;
  return `{"function_id":${JSON.stringify(functionId)}${timeout},"payload":${payloadJson}}`;
}

async function get<Data>(path: string): Promise<Data> {
  const response = await request(path, path, { method: "GET" });
  return dataOf<Data>(path, await response.text());
}

async function postText(path: string, body: string, what: string, signal: AbortSignal | undefined): Promise<string> {
  const response = await request(path, what, { method: "POST", body, ...(signal === undefined ? {} : { signal }) });
  return response.text();
}

async function request(path: string, what: string, init: RequestInit): Promise<Response> {
  const send = (): Promise<Response> =>
    fetch(path, { ...init, headers: { "content-type": "application/json", "x-svc-console": pageToken } });
  try {
    const response = await send();
    if (response.status !== 401) return response;
    if (response.headers.has(LOGIN_HEADER)) {
      endSession();
      return response;
    }
    // The console was restarted and rejected the page's old token, before the request had any effect. So it is safe to
    // send it again.
    return (await renewPageToken()) ? await send() : response;
  } catch (cause) {
    if ((cause as Error).name === "AbortError") throw cause;
    throw new ApiFailure(what, { code: "network", message: t`the console's server cannot be reached` });
  }
}

function dataOf<Data>(what: string, text: string): Data {
  let answer: ApiAnswer<Data>;
  try {
    answer = JSON.parse(text) as ApiAnswer<Data>;
  } catch {
    throw new ApiFailure(what, {
      code: "invalid_answer",
      message: t`the console's server answered with something that is not JSON: ${text.slice(0, 100)}`,
    });
  }
  if (answer.ok) return answer.data;
  throw new ApiFailure(what, answer.error);
}
