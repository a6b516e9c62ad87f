import type { EngineAddress } from "./engine-address.ts";
import { CommandFailure } from "./exit-codes.ts";

/** What an engine answered instead of letting a command in. */
export interface EngineRefusal {
  /** HTTP status, e.g. 401. */
  readonly status: number;
  /** In the engine's own words. */
  readonly message: string;
}

/** Exit 1: an engine is there and does not let the command in. */
export function refusedByEngine(address: EngineAddress, { status, message }: EngineRefusal, env: NodeJS.ProcessEnv = process.env): CommandFailure {
  if (status !== 401) return new CommandFailure(`The engine at ${address.shownUrl} refuses the connection (HTTP ${status}): ${message}.`);
  const origin = originOfToken(address, env);
  return new CommandFailure(
    `The engine at ${address.shownUrl} ${origin === undefined ? "wants a token, and none was sent" : "refuses the token"}: ${message}.`,
    {
      advice: [
        ...(origin === undefined ? [] : [`The token that was sent is ${origin}.`]),
        "The engine's own is what SVC_TOKEN was when it started, or engine.token of its config file, else the file .svc/token beside that file.",
        "Send it with: SVC_TOKEN=$(cat .svc/token) svc …",
      ],
    },
  );
}

/** Where the token that was sent comes from, in the order in which the SDK and the command line choose it. */
function originOfToken({ url, token, from }: EngineAddress, env: NodeJS.ProcessEnv): string | undefined {
  if (new URL(url).password !== "") return `in the address (${from})`;
  if ((env.SVC_TOKEN?.trim() ?? "") !== "") return "that of the variable SVC_TOKEN";
  return token === undefined ? undefined : "the one in the token file of this project's engine";
}
