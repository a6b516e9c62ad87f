import { functionIdSchema, MAX_TIMEOUT_MS } from "@svc-runtime/protocol";
import { z } from "zod";
import type { RateLimitSettings } from "../limits/rate-limit.ts";

// Common parts of the svc-http block and the config of a route.

export const MAX_BODY_LIMIT_BYTES = 64 * 1024 * 1024;
const MAX_FORM_LIMIT_BYTES = 4 * 1024 * 1024 * 1024;
const MAX_CONCURRENT_REQUESTS = 1_000_000;

export function wholeNumber(lowest: number, highest: number, what: string) {
  const error = `expected ${what}: a whole number from ${lowest} to ${highest}`;
  return z.int({ error }).min(lowest, { error }).max(highest, { error });
}

export const timeoutMs = () => wholeNumber(1, MAX_TIMEOUT_MS, "milliseconds");
export const bodyLimitBytes = () => wholeNumber(1, MAX_BODY_LIMIT_BYTES, "bytes");
export const formLimitBytes = () => wholeNumber(1, MAX_FORM_LIMIT_BYTES, "bytes");
export const concurrencyLimit = () => wholeNumber(1, MAX_CONCURRENT_REQUESTS, "a number of requests");
export const queueLimit = () => wholeNumber(0, MAX_CONCURRENT_REQUESTS, "a number of requests");

const rateError = "expected {requests, per_ms}, e.g. {requests: 100, per_ms: 60000}";

/** `{requests, per_ms}`: maximum number of requests of one client in `per_ms` milliseconds. */
export const rateLimitSchema = z
  .strictObject(
    {
      requests: wholeNumber(1, 1_000_000, "a number of requests"),
      per_ms: wholeNumber(1, MAX_TIMEOUT_MS, "milliseconds"),
    },
    { error: (issue) => (issue.code === "invalid_type" ? rateError : undefined) },
  )
  .transform(({ requests, per_ms }): RateLimitSettings => ({ requests, perMs: per_ms }));

export type MiddlewarePhase = "preHandler" | "postHandler";

/** A function that runs before or after the handlers. */
export interface MiddlewareEntry {
  readonly functionId: string;
  readonly phase: MiddlewarePhase;
  /** Functions with a lower priority run first. With equal priorities, the order in the list decides. */
  readonly priority: number;
  /** True if the function receives the request's body. The body is then read before the function runs. */
  readonly withBody: boolean;
}

const MAX_MIDDLEWARE = 32;
const middlewareError = "expected {function_id, phase?, priority?, with_body?}";

const middlewareObject = z
  .strictObject(
    {
      function_id: functionIdSchema.meta({ description: "Function that runs" }),
      phase: z
        .enum(["preHandler", "postHandler"])
        .optional()
        .meta({ description: "Before or after the handler. Default preHandler" }),
      priority: wholeNumber(-1_000_000, 1_000_000, "a priority")
        .optional()
        .meta({ description: "Lower ones run first. Default 0" }),
      with_body: z.boolean().optional().meta({ description: "Whether it gets the request's body. Default false" }),
    },
    { error: (issue) => (issue.code === "invalid_type" ? middlewareError : undefined) },
  )
  .transform(
    (entry): MiddlewareEntry => ({
      functionId: entry.function_id,
      phase: entry.phase ?? "preHandler",
      priority: entry.priority ?? 0,
      withBody: entry.with_body ?? false,
    }),
  );

/** `middleware` of svc-http. */
export const middlewareListSchema = z.array(middlewareObject).max(MAX_MIDDLEWARE);

/** `middleware_function_ids` of a route: ids, which run before the handler, or objects. */
export const routeMiddlewareSchema = z
  .array(
    z.union(
      [
        functionIdSchema.transform(
          (functionId): MiddlewareEntry => ({ functionId, phase: "preHandler", priority: 0, withBody: false }),
        ),
        middlewareObject,
      ],
      { error: `expected a function id, or ${middlewareError.slice("expected ".length)}` },
    ),
  )
  .max(MAX_MIDDLEWARE);
