import { CallError, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { Logger } from "../../kernel/logger.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { StreamAuthentication, StreamClient } from "../../kernel/stream-contract.ts";

/** Timeout of the auth function, in milliseconds. */
const AUTH_TIMEOUT_MS = 5_000;
const AUTHENTICATION_FAILED = 4401;
const FORBIDDEN = 4403;

/** Result of the auth function. Unknown members are rejected, because e.g. `{error: …}` must not admit the client. */
const verdictSchema = z.strictObject({
  context: z.unknown().optional(),
  system_streams: z.boolean().nullish(),
  unauthorized: z.boolean().nullish(),
});

export interface AuthenticationParts {
  readonly call: (id: string, payload: Payload, options: CallOptions) => Promise<Payload>;
  /** Whether the function is registered, and only by unrestricted workers. */
  readonly isTrusted: (functionId: string) => boolean;
  readonly log: Logger;
}

/** Calls the auth function for a new connection. Admits the client only if the function returns a valid result. */
export async function authenticate(
  functionId: string,
  client: StreamClient,
  { call, isTrusted, log }: AuthenticationParts,
): Promise<StreamAuthentication> {
  const { headers, path, query, address } = client;
  const refused = (code: 4401 | 4403, reason: string, why: string): StreamAuthentication => {
    log.info("a stream client was refused", { address, functionId, why });
    return { ok: false, code, reason };
  };
  if (!isTrusted(functionId))
    return refused(AUTHENTICATION_FAILED, "authentication failed", `no unrestricted worker provides ${functionId}`);
  let answer: unknown;
  try {
    const input = Payload.fromValue({ headers, path, query_params: query, addr: address });
    answer = (await call(functionId, input, { timeoutMs: AUTH_TIMEOUT_MS })).value();
  } catch (thrown) {
    const { code, message } = CallError.from(thrown);
    if (code === "FORBIDDEN") return refused(FORBIDDEN, "not authorised", message);
    return refused(AUTHENTICATION_FAILED, "authentication failed", `${code}: ${message}`);
  }
  if (answer === null) return refused(AUTHENTICATION_FAILED, "authentication failed", "the function returned null");
  const verdict = verdictSchema.safeParse(answer);
  if (!verdict.success)
    return refused(
      AUTHENTICATION_FAILED,
      "authentication failed",
      "the function did not return {context, system_streams?}",
    );
  if (verdict.data.unauthorized === true)
    return refused(FORBIDDEN, "not authorised", "the function returned {unauthorized: true}");
  return { ok: true, context: verdict.data.context ?? null, systemStreams: verdict.data.system_streams ?? false };
}
