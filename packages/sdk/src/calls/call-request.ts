import type { Functions } from "../registration/functions.ts";

type Part<Id, Name extends "payload" | "result"> = Id extends keyof Functions
  ? Functions[Id] extends { readonly [N in Name]: infer Type }
    ? Type
    : unknown
  : unknown;

/** Payload type of the function in `Functions`; `unknown` if it is not declared there. */
export type PayloadOf<Id> = Part<Id, "payload">;
/** Result type of the function in `Functions`; `unknown` if it is not declared there. */
export type ResultOf<Id> = Part<Id, "result">;

export interface CallOptions {
  /**
   * Deadline in milliseconds, 1 to 86,400,000. If it is not given, the first one that exists is used: `callTimeoutMs`
   * of `connect`; the `timeoutMs` with which the function is registered; `DEFAULT_TIMEOUT_MS`, 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
  /** If this signal aborts, the call is cancelled and rejects with `call_cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** Any JSON value. The handler gets it as `context.metadata`. */
  readonly metadata?: unknown;
}

/** Selects a function by its id. Both spellings are valid, because the specification uses `function_id`. */
export type FunctionChoice<Id extends string = string> =
  | { readonly function_id: Id; readonly functionId?: undefined }
  | { readonly functionId: Id; readonly function_id?: undefined };

export function functionIdOf(choice: FunctionChoice): string {
  // A caller without types may give neither member. The result is then undefined, and the check of the id fails.
  return (choice.function_id ?? choice.functionId) as string;
}

/** Function to call and its payload. The default payload is null, unless `Functions` declares a payload type. */
export type CallRequest<Id extends string = string> = CallOptions &
  FunctionChoice<Id> &
  (Id extends keyof Functions
    ? Functions[Id] extends { readonly payload: unknown }
      ? { readonly payload: PayloadOf<Id> }
      : { readonly payload?: unknown }
    : { readonly payload?: unknown });

export type EnqueueRequest<Id extends string = string> = CallRequest<Id> & { readonly queue: string };

export interface EnqueueReceipt {
  readonly messageReceiptId: string;
}

/**
 * Default of a type parameter for which the caller gives no type. It is not exported, so that callers cannot pass it.
 */
declare const inferred: unique symbol;
export type Inferred = typeof inferred;

/** The type that the caller gives. If the caller gives none, the result type in `Functions`. */
export type ResultType<Result, Id> = [Result] extends [Inferred] ? ResultOf<Id> : Result;
