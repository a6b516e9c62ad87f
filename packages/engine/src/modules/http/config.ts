import { MAX_TIMEOUT_MS } from "@svc/protocol";
import { z } from "zod";
import { tlsBlockSchema } from "../../config/tls-block.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_BODY_LIMIT_BYTES = 1024 * 1024;
const MAX_BODY_LIMIT_BYTES = 64 * 1024 * 1024;
const DEFAULT_CONCURRENT_REQUESTS = 1024;
const MAX_CONCURRENT_REQUESTS = 1_000_000;

function wholeNumber(lowest: number, highest: number, what: string) {
  const error = `expected ${what}: a whole number from ${lowest} to ${highest}`;
  return z.int({ error }).min(lowest, { error }).max(highest, { error });
}

const timeoutMs = (what: string) => wholeNumber(1, MAX_TIMEOUT_MS, what);

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
    default_timeout_ms: timeoutMs("milliseconds")
      .optional()
      .meta({ description: `How long a function may take to answer a request, in milliseconds. Default ${DEFAULT_TIMEOUT_MS}` }),
    default_timeout: timeoutMs("milliseconds").optional().meta({ description: "Older name of default_timeout_ms" }),
    body_limit_bytes: wholeNumber(1, MAX_BODY_LIMIT_BYTES, "bytes").default(DEFAULT_BODY_LIMIT_BYTES).meta({ description: "Largest request body, in bytes" }),
    concurrency_request_limit: wholeNumber(1, MAX_CONCURRENT_REQUESTS, "a number of requests")
      .default(DEFAULT_CONCURRENT_REQUESTS)
      .meta({ description: "Requests in work at once; more are answered 503 with Retry-After" }),
    cors: z
      .null({ error: "this version answers no cross-origin requests; remove the key or set it to null" })
      .optional()
      .meta({ description: "Only null: pages of other origins are not served" }),
    middleware: z
      .tuple([], { error: "this version runs no middleware; remove the key or leave the list empty" })
      .nullish()
      .meta({ description: "Only the empty list" }),
  })
  .superRefine((block, context) => {
    if (block.default_timeout === undefined || block.default_timeout_ms === undefined || block.default_timeout === block.default_timeout_ms) return;
    context.addIssue({
      code: "custom",
      path: ["default_timeout"],
      message: "is the older name of default_timeout_ms and differs from it; keep one of the two",
    });
  })
  .transform((block) => ({
    defaultTimeoutMs: block.default_timeout_ms ?? block.default_timeout ?? DEFAULT_TIMEOUT_MS,
    bodyLimitBytes: block.body_limit_bytes,
    concurrentRequests: block.concurrency_request_limit,
  }));

/** What the module does with its block; `port`, `host` and `tls` are read by the engine, which owns the listener. */
export type HttpConfig = z.output<typeof httpConfigSchema>;
