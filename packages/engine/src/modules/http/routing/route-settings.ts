import { functionIdSchema } from "@svc/protocol";
import { z } from "zod";
import { type CorsSettings, corsSchema } from "../answer/cors.ts";
import { parseRoutePattern } from "./route-pattern.ts";
import {
  bodyLimitBytes,
  concurrencyLimit,
  formLimitBytes,
  type MiddlewareEntry,
  queueLimit,
  rateLimitSchema,
  routeMiddlewareSchema,
  timeoutMs,
} from "./setting-parts.ts";

export const ROUTE_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;
export type RouteMethod = (typeof ROUTE_METHODS)[number];

const methodError = `expected one of ${ROUTE_METHODS.join(", ")}, in any case`;
const pathError = "expected the path of the route, e.g. /orders/:id";

/** Config of an `http` trigger. */
export const routeSettingsSchema = z
  .strictObject({
    api_path: z
      .string({ error: (issue) => (issue.input === undefined ? `is required for http triggers; ${pathError}` : pathError) })
      .superRefine((path, context) => {
        const pattern = parseRoutePattern(path);
        if ("problem" in pattern) context.addIssue({ code: "custom", message: pattern.problem });
      })
      .meta({ description: "Path of the route. `:name` takes one segment, `*name` at the end takes the rest. The leading slash may be left out" }),
    http_method: z
      .string({ error: methodError })
      .refine((method) => (ROUTE_METHODS as readonly string[]).includes(method.toUpperCase()), { error: methodError })
      .nullish()
      .meta({ description: `One of ${ROUTE_METHODS.join(", ")}. Default GET` }),
    condition_function_id: functionIdSchema.nullish().meta({ description: "Function that is asked first; when it answers false the request is answered 422" }),
    timeout_ms: timeoutMs().nullish().meta({ description: "How long the function may take, in milliseconds. Default: default_timeout_ms of svc-http" }),
    middleware_function_ids: routeMiddlewareSchema.nullish().meta({
      description: "Functions that run before the handler: ids, or {function_id, phase?, priority?, with_body?}. Sorted by priority among those of svc-http",
    }),
    body: z
      .enum(["auto", "stream"])
      .nullish()
      .meta({ description: "stream: the body is not read but handed on as it comes, whatever its type. Default auto: JSON, forms and text are read" }),
    streaming: z
      .boolean()
      .nullish()
      .meta({ description: "Whether the function gets channels for the body and the answer. false makes each request a little cheaper. Default true" }),
    body_limit_bytes: bodyLimitBytes().nullish().meta({ description: "Largest body that is read whole, in bytes. Default: body_limit_bytes of svc-http" }),
    form_limit_bytes: formLimitBytes().nullish().meta({ description: "Largest multipart form, in bytes. Default: form_limit_bytes of svc-http" }),
    concurrency_limit: concurrencyLimit().nullish().meta({ description: "Requests of this route in work at once. Default: no limit but that of svc-http" }),
    queue_limit: queueLimit()
      .nullish()
      .meta({ description: "Requests that may wait in line while concurrency_limit is reached, for timeout_ms at most. Default 0" }),
    rate_limit: rateLimitSchema.nullish().meta({ description: "How many requests one client may make of this route: {requests, per_ms}. Default none" }),
    cors: z
      .union([z.literal(false), corsSchema], { error: "expected false, or {allowed_origins: [...]} as in svc-http; credentials need named origins" })
      .nullish()
      .meta({ description: "What pages of other origins may do with this route; false for nothing. Default: cors of svc-http" }),
    compression: z.boolean().nullish().meta({ description: "Whether answers are compressed. Default: compression of svc-http" }),
  })
  .superRefine((route, context) => {
    if (route.body === "stream" && route.streaming === false) {
      context.addIssue({ code: "custom", path: ["streaming"], message: "cannot be false while body is stream: the body comes over a channel" });
    }
  })
  .transform((config) => ({
    apiPath: config.api_path,
    method: (config.http_method?.toUpperCase() ?? "GET") as RouteMethod,
    conditionFunctionId: config.condition_function_id ?? undefined,
    timeoutMs: config.timeout_ms ?? undefined,
    middleware: (config.middleware_function_ids ?? []) as readonly MiddlewareEntry[],
    streamsBody: config.body === "stream",
    streaming: config.streaming ?? true,
    bodyLimitBytes: config.body_limit_bytes ?? undefined,
    formLimitBytes: config.form_limit_bytes ?? undefined,
    concurrencyLimit: config.concurrency_limit ?? undefined,
    queueLimit: config.queue_limit ?? 0,
    rateLimit: config.rate_limit ?? undefined,
    /** False: none, whatever svc-http says. */
    cors: (config.cors ?? undefined) as CorsSettings | false | undefined,
    compression: config.compression ?? undefined,
  }));

export type RouteSettings = z.output<typeof routeSettingsSchema>;
