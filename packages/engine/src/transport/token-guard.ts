import type { IncomingMessage } from "node:http";
import { credentialsOf, digestOf, isToken } from "./credentials.ts";

export interface Refusal {
  /** HTTP status with its reason phrase, e.g. `401 Unauthorized`. */
  readonly status: string;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CHALLENGE = { "www-authenticate": 'Bearer realm="svc", Basic realm="svc", charset="UTF-8"' };

export function unauthorized(message: string): Refusal {
  return { status: "401 Unauthorized", code: "AUTH_ERROR", message, headers: CHALLENGE };
}

export const MISSING_TOKEN =
  "this listener requires the engine's token: send Authorization: Bearer TOKEN (SVC_TOKEN for svc's own clients)";
export const WRONG_TOKEN = "the token is not the engine's; where none is required, send none";
/** For listeners whose `rbac` has tokens. */
export const WRONG_TOKEN_OF_ROLE =
  "the token is neither the engine's nor that of a role of this listener; where none is required, send none";

/** Checks requests for the engine's own token. */
export class TokenGuard {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = digestOf(token);
  }

  /** Returns true if the request presents the engine's token. */
  isHolder(request: IncomingMessage): boolean {
    const credentials = credentialsOf(request);
    return credentials.kind === "token" && isToken(credentials.token, this.#digest);
  }

  /**
   * Returns why the request is refused, or undefined if it is accepted. A wrong token is refused even if no token is
   * required, because a client that sends a token expects its rights.
   */
  refusal(request: IncomingMessage, options: { readonly required: boolean }): Refusal | undefined {
    if (credentialsOf(request).kind === "none") return options.required ? unauthorized(MISSING_TOKEN) : undefined;
    return this.isHolder(request) ? undefined : unauthorized(WRONG_TOKEN);
  }
}
