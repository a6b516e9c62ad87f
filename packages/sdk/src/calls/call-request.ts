import type { Functions } from "../registration/functions.ts";

type Part<Id, Name extends "payload" | "result"> = Id extends keyof Functions
  ? Functions[Id] extends { readonly [N in Name]: infer Type }
    ? Type
    : unknown
  : unknown;

/** The payload type of a function in `Functions`, else `unknown`. */
export type PayloadOf<Id> = Part<Id, "payload">;
/** The result type of a function in `Functions`, else `unknown`. */
export type ResultOf<Id> = Part<Id, "result">;

export interface CallOptions {
  /**
   * Deadline in milliseconds, 1 to 86,400,000. Default: `callTimeoutMs` of `connect`, else what the function registered
   * with, else 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
  /** Cancels the call when it aborts. The call then rejects with `call_cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** Any JSON value. The handler receives it as `context.metadata`. */
  readonly metadata?: unknown;
}

/** A function by its id. Both spellings are valid: the specification writes out `function_id`. */
export type FunctionChoice<Id extends string = string> =
  | { readonly function_id: Id; readonly functionId?: undefined }
  | { readonly functionId: Id; readonly function_id?: undefined };

export function functionIdOf(choice: FunctionChoice): string {
  // An untyped caller may give neither: then the check of the id fails.
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

/** Marks a type parameter without an argument. Not exported, so that callers cannot pass it. */
declare const inferred: unique symbol;
export type Inferred = typeof inferred;

/** The given type, else the result type in `Functions`. */
export type ResultType<Result, Id> = [Result] extends [Inferred] ? ResultOf<Id> : Result;
