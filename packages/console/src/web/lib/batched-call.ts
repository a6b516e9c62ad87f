import type { ApiAnswer } from "../../contract/api.ts";
import { MAX_CALLS } from "../../contract/max-calls.ts";
import { t } from "../labels/translate.ts";
import { ApiFailure, answersOfCalls, call, requireProvider } from "./api.ts";

/** Time within which calls are collected into one request, in milliseconds. */
const BATCH_MS = 10;

interface Waiting {
  readonly functionId: string;
  readonly payload: unknown;
  readonly signal: AbortSignal | undefined;
  resolve(data: unknown): void;
  reject(error: unknown): void;
}

let waiting: Waiting[] = [];

/**
 * Like `call`, but calls that are made at the same time are sent as one request. It is only for functions that change
 * nothing. Each call resolves as soon as its own result arrives.
 */
export async function batchedCall<Result>(
  functionId: string,
  payload: unknown,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Result> {
  await requireProvider(functionId);
  signal?.throwIfAborted();
  return new Promise<Result>((resolve, reject) => {
    if (waiting.length === 0) setTimeout(sendAll, BATCH_MS);
    waiting.push({ functionId, payload, signal, resolve: (data) => resolve(data as Result), reject });
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function sendAll(): void {
  const all = waiting.filter(({ signal }) => signal?.aborted !== true);
  waiting = [];
  for (let from = 0; from < all.length; from += MAX_CALLS) void send(all.slice(from, from + MAX_CALLS));
}

async function send(calls: readonly Waiting[]): Promise<void> {
  const [only] = calls;
  if (only !== undefined && calls.length === 1) {
    const { functionId, payload, signal } = only;
    await call(functionId, payload, signal === undefined ? {} : { signal }).then(only.resolve, only.reject);
    return;
  }
  const left = new Set(calls);
  const unwanted = new AbortController();
  for (const each of calls) {
    const leave = (): void => {
      left.delete(each);
      if (left.size === 0) unwanted.abort();
    };
    each.signal?.addEventListener("abort", leave, { once: true });
  }
  try {
    for await (const { at, ...answer } of answersOfCalls(calls, unwanted.signal)) {
      const each = calls[at];
      if (each === undefined) continue;
      left.delete(each);
      settle(each, answer);
    }
    throw new ApiFailure("calls", { code: "network", message: t`the response ended early` });
  } catch (error) {
    for (const { functionId, reject } of left) {
      const { code = "network", message, details } = error as Partial<ApiFailure> & Error;
      reject(new ApiFailure(functionId, { code, message, details }));
    }
  }
}

function settle({ functionId, resolve, reject }: Waiting, answer: ApiAnswer<unknown>): void {
  if (answer.ok) resolve(answer.data);
  else reject(new ApiFailure(functionId, answer.error));
}
