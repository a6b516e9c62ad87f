import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { type CorsSettings, corsSchema } from "../response/cors.ts";
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
      .string({
        error: (issue) => (issue.input === undefined ? `is required for http triggers; ${pathError}` : pathError),
      })
      .superRefine((path, context) => {
        const pattern = parseRoutePattern(path);
        if ("problem" in pattern) context.addIssue({ code: "custom", message: pattern.problem });
      })
      .meta({
        description:
          "Path of the route. `:name` takes one segment, `*name` at the end takes the rest. The leading slash may be left out",
      }),
    http_method: z
      .string({ error: methodError })
      .refine((method) => (ROUTE_METHODS as readonly string[]).includes(method.toUpperCase()), { error: methodError })
      .nullish()
      .meta({ description: `One of ${ROUTE_METHODS.join(", ")}. Default GET` }),
    condition_function_id: functionIdSchema
      .nullish()
      .meta({ description: "Function that is called first; if it returns false, the response is 422" }),
    timeout_ms: timeoutMs().nullish().meta({
      description: "How long the function may take, in milliseconds. Default: default_timeout_ms of svc-http",
    }),
    middleware_function_ids: routeMiddlewareSchema.nullish().meta({
      description:
        "Functions that run before the handler: ids, or {function_id, phase?, priority?, with_body?}. Sorted by priority among those of svc-http",
    }),
    body: z.enum(["auto", "stream"]).nullish().meta({
      description:
        "stream: the body is not parsed but passed on as it arrives, whatever its type. Default auto: JSON, forms and text are parsed",
    }),
    streaming: z.boolean().nullish().meta({
      description:
        "Whether the function gets channels for the body and the response. false makes each request a little cheaper. Default true",
    }),
    body_limit_bytes: bodyLimitBytes().nullish().meta({
      description: "Maximum size of a body that is read completely, in bytes. Default: body_limit_bytes of svc-http",
    }),
    form_limit_bytes: formLimitBytes()
      .nullish()
      .meta({ description: "Maximum size of a multipart form, in bytes. Default: form_limit_bytes of svc-http" }),
    concurrency_limit: concurrencyLimit().nullish().meta({
      description: "Maximum number of concurrent requests of this route. Default: only the limit of svc-http",
    }),
    queue_limit: queueLimit().nullish().meta({
      description:
        "Maximum number of requests that wait while concurrency_limit is reached, each for at most timeout_ms. Default 0",
    }),
    rate_limit: rateLimitSchema
      .nullish()
      .meta({ description: "Maximum rate of requests of one client to this route: {requests, per_ms}. Default none" }),
    cors: z
      .union([z.literal(false), corsSchema], {
        error: "expected false, or {allowed_origins: [...]} as in svc-http; credentials need named origins",
      })
      .nullish()
      .meta({
        description: "Permissions of pages of other origins for this route; false for none. Default: cors of svc-http",
      }),
    compression: z
      .boolean()
      .nullish()
      .meta({ description: "Whether responses are compressed. Default: compression of svc-http" }),
  })
  .superRefine((route, context) => {
    if (route.body === "stream" && route.streaming === false) {
      context.addIssue({
        code: "custom",
        path: ["streaming"],
        message: "cannot be false while body is stream: the body comes over a channel",
      });
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
    /** False: no permissions, even if svc-http has `cors`. Undefined: the `cors` of svc-http. */
    cors: (config.cors ?? undefined) as CorsSettings | false | undefined,
    compression: config.compression ?? undefined,
  }));

export type RouteSettings = z.output<typeof routeSettingsSchema>;
