import { CallError, Payload } from "@svc/protocol";
import { z } from "zod";
import type { Logger } from "../../kernel/logger.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { StreamAuthentication, StreamClient } from "../../kernel/stream-contract.ts";

/** How long the function may take, in milliseconds. */
const AUTH_TIMEOUT_MS = 5_000;
const CANNOT_TELL = 4401;
const MAY_NOT = 4403;

/** What the function answers. Strict: an answer that means something else, e.g. `{error: …}`, must not let anybody in. */
const verdictSchema = z.strictObject({
  context: z.unknown().optional(),
  system_streams: z.boolean().nullish(),
  unauthorized: z.boolean().nullish(),
});

export interface AuthenticationParts {
  readonly call: (id: string, payload: Payload, options: CallOptions) => Promise<Payload>;
  /** Whether the function is there, and not a restricted connection's. */
  readonly isTrusted: (functionId: string) => boolean;
  readonly log: Logger;
}

/** Asks the function that decides who may open a connection. It lets in only by an answer of the right shape. */
export async function authenticate(functionId: string, client: StreamClient, { call, isTrusted, log }: AuthenticationParts): Promise<StreamAuthentication> {
  const { headers, path, query, address } = client;
  const refused = (code: 4401 | 4403, reason: string, why: string): StreamAuthentication => {
    log.info("a stream client was refused", { address, functionId, why });
    return { ok: false, code, reason };
  };
  if (!isTrusted(functionId)) return refused(CANNOT_TELL, "authentication failed", `no unrestricted worker provides ${functionId}`);
  let answer: unknown;
  try {
    const input = Payload.fromValue({ headers, path, query_params: query, addr: address });
    answer = (await call(functionId, input, { timeoutMs: AUTH_TIMEOUT_MS })).value();
  } catch (thrown) {
    const { code, message } = CallError.from(thrown);
    if (code === "FORBIDDEN") return refused(MAY_NOT, "not authorised", message);
    return refused(CANNOT_TELL, "authentication failed", `${code}: ${message}`);
  }
  if (answer === null) return refused(CANNOT_TELL, "authentication failed", "the function answered nothing");
  const verdict = verdictSchema.safeParse(answer);
  if (!verdict.success) return refused(CANNOT_TELL, "authentication failed", "the function answered something else than {context, system_streams?}");
  if (verdict.data.unauthorized === true) return refused(MAY_NOT, "not authorised", "the function answered {unauthorized: true}");
  return { ok: true, context: verdict.data.context ?? null, systemStreams: verdict.data.system_streams ?? false };
}
