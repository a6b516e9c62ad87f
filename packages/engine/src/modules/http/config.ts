import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { tlsBlockSchema } from "../../config/blocks/tls-block.ts";
import { type CorsSettings, corsSchema } from "./response/cors.ts";
import {
  bodyLimitBytes,
  concurrencyLimit,
  formLimitBytes,
  type MiddlewareEntry,
  middlewareListSchema,
  queueLimit,
  rateLimitSchema,
  timeoutMs,
  wholeNumber,
} from "./routing/setting-parts.ts";
import { proxyProblem } from "./trusted-proxies.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_BODY_LIMIT_BYTES = 1024 * 1024;
const DEFAULT_FORM_LIMIT_BYTES = 256 * 1024 * 1024;
const DEFAULT_CONCURRENT_REQUESTS = 1024;
const MAX_PROXIES = 256;

/**
 * Name of the response header with the request's id. Trusted proxies may send the header in a request to set the id.
 */
export const REQUEST_ID_HEADER = "x-request-id";

const proxyList = z
  .array(
    z.string().superRefine((entry, context) => {
      const problem = proxyProblem(entry);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    }),
    {
      error:
        'expected a list of proxies, e.g. ["loopback", "10.0.0.0/8"]; if all were trusted, every client could forge its address',
    },
  )
  .max(MAX_PROXIES);

const headerNameError = "expected the name of a header, e.g. x-request-id";

/** The `svc-http` block of the config file. */
export const httpConfigSchema = z
  .strictObject({
    port: wholeNumber(0, 65_535, "the port of the engine's HTTP listener")
      .optional()
      .meta({ description: "Port of the engine's HTTP listener; 0 picks a free one. Default 3111" }),
    host: z
      .string({ error: "expected the address to bind, e.g. 127.0.0.1" })
      .min(1, { error: "expected the address to bind, e.g. 127.0.0.1" })
      .optional()
      .meta({ description: "Address that the listener binds. Default 127.0.0.1" }),
    tls: tlsBlockSchema.optional().meta({ description: "Serve https. Default none" }),
    default_timeout_ms: timeoutMs()
      .optional()
      .meta({
        description: `Time limit for a function to respond to a request, in milliseconds. Default ${DEFAULT_TIMEOUT_MS}`,
      }),
    default_timeout: timeoutMs().optional().meta({ description: "Older name of default_timeout_ms" }),
    body_limit_bytes: bodyLimitBytes()
      .optional()
      .meta({
        description: `Maximum size of a request body that is read completely, in bytes; streamed bodies have no limit. Default ${DEFAULT_BODY_LIMIT_BYTES}`,
      }),
    form_limit_bytes: formLimitBytes().default(DEFAULT_FORM_LIMIT_BYTES).meta({
      description:
        "Maximum size of a multipart form, in bytes. Files that do not fit in body_limit_bytes are stored in the data folder. Default 256 MiB",
    }),
    body_limit: bodyLimitBytes().optional().meta({ description: "Older name of body_limit_bytes" }),
    concurrency_request_limit: concurrencyLimit()
      .default(DEFAULT_CONCURRENT_REQUESTS)
      .meta({ description: "Maximum number of concurrent requests; further ones wait or get 503 with Retry-After" }),
    queue_limit: queueLimit().default(0).meta({
      description:
        "Maximum number of requests that wait while concurrency_request_limit is reached, each for at most default_timeout_ms. Default 0",
    }),
    rate_limit: rateLimitSchema.nullish().meta({
      description:
        "Maximum rate of requests of one client: {requests, per_ms}; further ones get 429 with Retry-After. Default none",
    }),
    trusted_proxies: proxyList.optional().meta({
      description:
        'Proxies whose X-Forwarded-For, -Proto and -Host are trusted: "loopback", addresses, networks such as 10.0.0.0/8. Default none',
    }),
    trust_proxy: z
      .union([z.literal(false), proxyList])
      .optional()
      .meta({ description: "Older name of trusted_proxies" }),
    request_id_header: z
      .string({ error: headerNameError })
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: headerNameError })
      .transform((name) => name.toLowerCase())
      .optional()
      .meta({
        description: `Header whose value becomes the request's id, also from untrusted clients. Default: ${REQUEST_ID_HEADER}, from trusted proxies only`,
      }),
    trust_traceparent: z.boolean().default(true).meta({
      description:
        "Whether traceparent and baggage of a request continue the client's trace; false starts a new trace that links to it. Default true",
    }),
    ignore_trailing_slash: z
      .boolean()
      .default(false)
      .meta({ description: "Whether /a/ and /a are the same path. Default false" }),
    not_found_function: functionIdSchema
      .nullish()
      .meta({ description: "Function for paths without a route. Its default status is 404" }),
    compression: z.boolean().default(true).meta({
      description:
        "Whether responses of 1 KiB and more are compressed (br, gzip) for clients that support it. Default true",
    }),
    error_format: z.enum(["standard", "legacy"]).default("standard").meta({
      description:
        'Body of error responses: standard {"error": {"code", "message", "error_id"}} or legacy {"error": "message", "error_id"}',
    }),
    cors: corsSchema.nullish().meta({ description: "Permissions of pages of other origins. Default none" }),
    middleware: middlewareListSchema
      .nullish()
      .meta({ description: "Functions that run before or after every handler" }),
  })
  .superRefine((block, context) => {
    for (const [older, name] of [
      ["default_timeout", "default_timeout_ms"],
      ["body_limit", "body_limit_bytes"],
    ] as const) {
      if (block[older] === undefined || block[name] === undefined || block[older] === block[name]) continue;
      context.addIssue({
        code: "custom",
        path: [older],
        message: `is the older name of ${name} and differs from it; keep one of the two`,
      });
    }
    if (block.trust_proxy === undefined || block.trusted_proxies === undefined) return;
    context.addIssue({
      code: "custom",
      path: ["trust_proxy"],
      message: "is the older name of trusted_proxies; keep one of the two",
    });
  })
  .transform((block) => ({
    defaultTimeoutMs: block.default_timeout_ms ?? block.default_timeout ?? DEFAULT_TIMEOUT_MS,
    bodyLimitBytes: block.body_limit_bytes ?? block.body_limit ?? DEFAULT_BODY_LIMIT_BYTES,
    formLimitBytes: block.form_limit_bytes,
    concurrentRequests: block.concurrency_request_limit,
    queueLimit: block.queue_limit,
    rateLimit: block.rate_limit ?? undefined,
    trustedProxies: block.trusted_proxies ?? (block.trust_proxy || []),
    requestIdHeader: block.request_id_header,
    trustTraceparent: block.trust_traceparent,
    ignoreTrailingSlash: block.ignore_trailing_slash,
    notFoundFunction: block.not_found_function ?? undefined,
    compression: block.compression,
    errorFormat: block.error_format,
    cors: (block.cors ?? undefined) as CorsSettings | undefined,
    middleware: (block.middleware ?? []) as readonly MiddlewareEntry[],
  }));

/** The parsed block. It lacks `port`, `host` and `tls`, because the engine owns the listener and reads them itself. */
export type HttpConfig = z.output<typeof httpConfigSchema>;
