import { CallError, MAX_TIMEOUT_MS } from "@svc/protocol";

/**
 * How the engine authenticates to the function. The values are names of environment variables of the engine's process.
 */
export type HttpFunctionAuth =
  | { readonly type: "hmac"; readonly secret_key: string }
  | { readonly type: "bearer"; readonly token_key: string }
  | { readonly type: "api_key"; readonly header: string; readonly value_key: string };

/** A function that the engine calls over HTTP. It does not run in this worker. */
export interface HttpFunction {
  readonly url: string;
  /** Default POST. The payload is the body for every method. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | undefined;
  /** Deadline of one call including all attempts, in milliseconds, 1 to 86,400,000. Default 30,000. */
  readonly timeout_ms?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly auth?: HttpFunctionAuth | undefined;
  /** Default: only requests that did not reach the function are retried. */
  readonly retry?:
    | {
        /** Maximum attempts, 1 to 10. Default: the engine's setting, 3. */
        readonly attempts?: number | undefined;
        /** Statuses from 400 to 599 that are retried. Requires `idempotent`. */
        readonly statuses?: readonly number[] | undefined;
        /** The function may run twice without harm, so requests are also retried after a broken connection. */
        readonly idempotent?: boolean | undefined;
      }
    | undefined;
}

/** Returns why the value is not a valid HTTP function, or undefined. The engine checks the rest by its own rules. */
export function httpFunctionProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("url" in value))
    return "must be a function, or an object with the url to call";
  if (typeof value.url !== "string" || !/^https?:\/\//i.test(value.url) || !URL.canParse(value.url))
    return "must have a url that begins with https:// or http://";
  const timeoutMs = "timeout_ms" in value ? value.timeout_ms : undefined;
  if (
    timeoutMs !== undefined &&
    !(Number.isInteger(timeoutMs) && (timeoutMs as number) >= 1 && (timeoutMs as number) <= MAX_TIMEOUT_MS)
  ) {
    return `must have a timeout_ms that is a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`;
  }
  return undefined;
}

/** Handler for calls that an engine sends to this worker although the function is called over HTTP. */
export function notInvokable(id: string): () => never {
  return () => {
    throw new CallError("function_not_invokable", `function ${id} is called over HTTP and does not run in this worker`);
  };
}
