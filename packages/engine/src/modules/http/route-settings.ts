import { functionIdSchema, MAX_TIMEOUT_MS } from "@svc/protocol";
import { z } from "zod";
import { parseRoutePattern } from "./route-pattern.ts";

export const ROUTE_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;
export type RouteMethod = (typeof ROUTE_METHODS)[number];

const methodError = `expected one of ${ROUTE_METHODS.join(", ")}, in any case`;
const pathError = "expected the path of the route, e.g. /orders/:id";
const timeoutError = `expected milliseconds: a whole number from 1 to ${MAX_TIMEOUT_MS}`;

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
    timeout_ms: z
      .int({ error: timeoutError })
      .min(1, { error: timeoutError })
      .max(MAX_TIMEOUT_MS, { error: timeoutError })
      .nullish()
      .meta({ description: "How long the function may take, in milliseconds. Default: default_timeout_ms of svc-http" }),
    middleware_function_ids: z
      .tuple([], { error: "this version runs no middleware, and a route whose middleware is left out would be open; remove the key or leave the list empty" })
      .nullish()
      .meta({ description: "Only the empty list" }),
  })
  .transform((config) => ({
    apiPath: config.api_path,
    method: (config.http_method?.toUpperCase() ?? "GET") as RouteMethod,
    conditionFunctionId: config.condition_function_id ?? undefined,
    timeoutMs: config.timeout_ms ?? undefined,
  }));

export type RouteSettings = z.output<typeof routeSettingsSchema>;
