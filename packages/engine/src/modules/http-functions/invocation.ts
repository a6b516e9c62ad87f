import { CallError, MAX_TIMEOUT_MS } from "@svc-runtime/protocol";
import { z } from "zod";
import { headerProblem } from "./header-rules.ts";

/** Deadline of a call including all attempts, if the registration sets none. */
export const DEFAULT_HTTP_TIMEOUT_MS = 30_000;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_URL_CHARACTERS = 8192;
const MAX_HEADERS = 64;
const MAX_HEADER_BYTES = 16 * 1024;

/** Name of an environment variable of the engine's process. */
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, {
  message: "must be the name of an environment variable, such as PAYMENTS_TOKEN; the value itself does not belong here",
});

const authSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("hmac"), secret_key: variableName }),
  z.object({ type: z.literal("bearer"), token_key: variableName }),
  z.object({ type: z.literal("api_key"), header: z.string(), value_key: variableName }),
]);
export type HttpAuth = z.output<typeof authSchema>;

/**
 * Published clients do not know `retry`. Failed statuses are retried only if the registration says that the function
 * may run twice.
 */
const retrySchema = z
  .object({
    attempts: z.int().min(1).max(10).nullish(),
    statuses: z.array(z.int().min(400).max(599)).max(32).nullish(),
    idempotent: z.boolean().nullish(),
  })
  .refine(({ statuses, idempotent }) => (statuses ?? []).length === 0 || idempotent === true, {
    path: ["statuses"],
    message: "needs `idempotent: true` beside it: a request that failed may have been processed",
  });

// Member `invocation` of the message `registerfunction`. All optional members except `headers` may be null, which means
// that they are absent. Unknown members are ignored.
const invocationSchema = z.object({
  url: z.string().max(MAX_URL_CHARACTERS),
  method: z.enum(METHODS).nullish(),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).nullish(),
  headers: z.record(z.string(), z.string()).optional(),
  auth: authSchema.nullish(),
  retry: retrySchema.nullish(),
});

/** The settings of a function's requests, with defaults. */
export interface HttpInvocation {
  readonly url: string;
  readonly method: (typeof METHODS)[number];
  readonly timeoutMs: number;
  /** Names have the spelling of the registration. No two names differ in case only. */
  readonly headers: ReadonlyMap<string, string>;
  readonly auth: HttpAuth | undefined;
  /** Number of attempts including the first. Undefined: the engine's setting. */
  readonly attempts: number | undefined;
  readonly retryStatuses: ReadonlySet<number>;
  /** True if the function may run twice without harm. */
  readonly idempotent: boolean;
}

/** Parses a registration's `invocation`. Throws `registration_refused` with the name of the wrong member. */
export function readInvocation(functionId: string, value: unknown): HttpInvocation {
  const parsed = invocationSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(
      functionId,
      ["invocation", ...(issue?.path ?? [])].map(String).join("."),
      issue?.message ?? "is malformed",
    );
  }
  const { url, method, timeout_ms, headers, auth, retry } = parsed.data;
  const checked = checkHeaders(functionId, headers ?? {});
  if (auth?.type === "api_key") {
    const problem = headerProblem(auth.header, "");
    if (problem !== undefined) throw refuse(functionId, "invocation.auth.header", problem);
  }
  return {
    url,
    method: method ?? "POST",
    timeoutMs: timeout_ms ?? DEFAULT_HTTP_TIMEOUT_MS,
    headers: checked,
    auth: auth ?? undefined,
    attempts: retry?.attempts ?? undefined,
    retryStatuses: new Set(retry?.statuses ?? []),
    idempotent: retry?.idempotent ?? false,
  };
}

function checkHeaders(functionId: string, headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS)
    throw refuse(functionId, "invocation.headers", `holds ${entries.length} headers; the limit is ${MAX_HEADERS}`);
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of entries) {
    const problem =
      headerProblem(name, value) ?? (seen.has(name.toLowerCase()) ? "is there twice, in different case" : undefined);
    if (problem !== undefined)
      throw refuse(functionId, `invocation.headers[${JSON.stringify(name.slice(0, 64))}]`, problem);
    seen.add(name.toLowerCase());
    bytes += name.length + value.length;
  }
  if (bytes > MAX_HEADER_BYTES)
    throw refuse(functionId, "invocation.headers", `holds ${bytes} bytes; the limit is ${MAX_HEADER_BYTES}`);
  return new Map(entries);
}

function refuse(functionId: string, where: string, problem: string): CallError {
  return new CallError("registration_refused", `${functionId}: \`${where}\` ${problem}`);
}
