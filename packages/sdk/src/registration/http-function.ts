import { CallError } from "@svc-runtime/protocol/client";
import { snakeCase } from "../names/case.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { timeoutProblem } from "../refusals.ts";

/**
 * How the engine authenticates itself to the function. The values are names of environment variables that the engine's
 * process has.
 */
export type HttpFunctionAuth =
  | { readonly type: "hmac"; readonly secretKey: string }
  | { readonly type: "bearer"; readonly tokenKey: string }
  | { readonly type: "api_key"; readonly header: string; readonly valueKey: string }
  /** @deprecated Use `secretKey`. */
  | { readonly type: "hmac"; readonly secret_key: string }
  /** @deprecated Use `tokenKey`. */
  | { readonly type: "bearer"; readonly token_key: string }
  /** @deprecated Use `valueKey`. */
  | { readonly type: "api_key"; readonly header: string; readonly value_key: string };

/** A function that the engine calls over HTTP. It does not run in this worker. */
export interface HttpFunction {
  readonly url: string;
  /** HTTP method. Default POST. With each method, the payload is the body. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | undefined;
  /** Deadline of one call including all attempts, in milliseconds, 1 to 86,400,000. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly auth?: HttpFunctionAuth | undefined;
  /** Retries. By default, only requests that did not reach the function are sent again. */
  readonly retry?:
    | {
        /** Maximum attempts, 1 to 10. Default: the engine's setting, 3. */
        readonly attempts?: number | undefined;
        /** Statuses from 400 to 599 that are retried. Requires `idempotent`. */
        readonly statuses?: readonly number[] | undefined;
        /**
         * True if the function may run twice without harm. Requests are then also sent again after a broken connection.
         */
        readonly idempotent?: boolean | undefined;
      }
    | undefined;
}

const members = optionNames("an HTTP function", ["url", "method", "timeoutMs", "headers", "auth", "retry"], {
  timeout_ms: "timeoutMs",
});
const authMembers = optionNames("auth of an HTTP function", ["type", "header", "secretKey", "tokenKey", "valueKey"], {
  secret_key: "secretKey",
  token_key: "tokenKey",
  value_key: "valueKey",
});
const retryMembers = optionNames("retry of an HTTP function", ["attempts", "statuses", "idempotent"]);

/**
 * Returns the description of the function under its current names. The engine checks the rest by its own rules.
 *
 * @throws TypeError that names the function, if the value is not a valid description.
 */
export function checkedHttpFunction(value: HttpFunction, id: string): HttpFunction {
  const invalid = (why: string): TypeError => new TypeError(`the handler of function ${id} ${why}`);
  if (typeof value !== "object" || value === null || !("url" in value))
    throw invalid("must be a function, or an object with the url to call");
  const checked = checkedOptions(value, members);
  if (typeof checked.url !== "string" || !/^https?:\/\//i.test(checked.url) || !URL.canParse(checked.url))
    throw invalid("must have a url that begins with https:// or http://");
  const problem = timeoutProblem(checked.timeoutMs, "timeoutMs");
  if (problem !== undefined) throw invalid(`is invalid: ${problem}`);
  const { auth, retry } = checked;
  return {
    ...checked,
    ...(auth === undefined ? {} : { auth: checkedOptions(auth, authMembers) }),
    ...(retry === undefined ? {} : { retry: checkedOptions(retry, retryMembers) }),
  };
}

/**
 * Returns the description under the names of the wire. Names of headers stay unchanged, because the user chose them.
 */
export function wireHttpFunction({ auth, timeoutMs, ...rest }: HttpFunction): WireHttpFunction {
  return {
    ...rest,
    timeout_ms: timeoutMs,
    auth:
      auth === undefined
        ? undefined
        : Object.fromEntries(Object.entries(auth).map(([name, value]) => [snakeCase(name), value])),
  };
}

/** An HTTP function on the wire. */
export interface WireHttpFunction {
  readonly url: string;
  readonly [member: string]: unknown;
}

/**
 * Returns a handler for calls that an engine sends to this worker by mistake, although the function is called over
 * HTTP.
 */
export function notInvokable(id: string): () => never {
  return () => {
    throw new CallError("function_not_invokable", `function ${id} is called over HTTP and does not run in this worker`);
  };
}
