import type { Clock } from "../kernel/clock.ts";
import type { StreamAuthentication, StreamClient, StreamSource } from "../kernel/stream-contract.ts";
import { withTimeout } from "./with-timeout.ts";

/** Timeout of an authentication, in milliseconds. */
const DEADLINE_MS = 5_000;
const CLOSE_UNKNOWN = 4401;

/** Authenticates a client. Any failure refuses the connection. */
export async function authenticate(
  source: StreamSource,
  client: StreamClient,
  clock: Clock,
): Promise<StreamAuthentication & { readonly problem?: unknown }> {
  try {
    const ask = source.authenticate;
    if (ask === undefined) return { ok: true, context: null, systemStreams: true };
    const answer = await withTimeout(clock, DEADLINE_MS, "the authentication of a stream connection", () =>
      ask.call(source, client),
    );
    // The result comes from a module. It is validated nevertheless, because it decides about access.
    if (answer?.ok === true && typeof answer.systemStreams === "boolean") return answer;
    if (answer?.ok === false && (answer.code === 4401 || answer.code === 4403)) return answer;
    return { ok: false, code: CLOSE_UNKNOWN, reason: "the authentication returned an invalid result" };
  } catch (problem) {
    return { ok: false, code: CLOSE_UNKNOWN, reason: "the authentication failed", problem };
  }
}
