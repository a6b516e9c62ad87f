import { CommandFailure } from "../exit-codes.ts";
import type { EngineAddress } from "./engine-address.ts";

/** How an engine rejected the connection. */
export interface EngineRejection {
  /** HTTP status, e.g. 401. */
  readonly status: number;
  /** The engine's message. */
  readonly message: string;
}

/** Returns the error (exit 1) for an engine that rejected the connection. */
export function connectionRejected(
  address: EngineAddress,
  { status, message }: EngineRejection,
  env: NodeJS.ProcessEnv = process.env,
): CommandFailure {
  if (status !== 401)
    return new CommandFailure(
      `The engine at ${address.shownUrl} rejected the connection (HTTP ${status}): ${message}.`,
    );
  const origin = originOfToken(address, env);
  return new CommandFailure(
    `The engine at ${address.shownUrl} ${origin === undefined ? "requires a token, but none was sent" : "rejected the token"}: ${message}.`,
    {
      advice: [
        ...(origin === undefined ? [] : [`The token came from ${origin}.`]),
        "The engine's token is SVC_TOKEN of its environment, engine.token of its config file, or the file .svc/token beside that file.",
        "Send it with: SVC_TOKEN=$(cat .svc/token) svc …",
      ],
    },
  );
}

/**
 * Returns the source of the token that was sent. The sources are checked in the order in which the SDK and the CLI use
 * them.
 */
function originOfToken({ url, token, from }: EngineAddress, env: NodeJS.ProcessEnv): string | undefined {
  if (new URL(url).password !== "") return `the address (${from})`;
  if ((env.SVC_TOKEN?.trim() ?? "") !== "") return "the environment variable SVC_TOKEN";
  return token === undefined ? undefined : "the token file of this project's engine";
}
