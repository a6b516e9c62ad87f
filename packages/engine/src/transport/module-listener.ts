import type { IncomingMessage, ServerResponse } from "node:http";
import { isLoopback } from "../config/listen-address.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ListenOptions, ModuleListener } from "../kernel/module.ts";
import { type AccessRules, fetchSiteIsSafe, misdirection, originIsAllowed } from "./guards.ts";
import { Listener, sendError } from "./listener.ts";
import type { Refusal } from "./token-guard.ts";

/** The rules of a module's listener. Read for each request, because the config may change. */
export interface ModuleListenerRules {
  readonly access: () => AccessRules;
  /**
   * Returns why the request is refused if it lacks the engine's token. `host`: the host to which the listener is bound.
   */
  readonly tokenRefusal: (request: IncomingMessage, host: string) => Refusal | undefined;
  readonly maxConnectionsPerAddress: () => number | undefined;
  readonly log: Logger;
}

/**
 * Opens a separate listener of a module, with the same checks as the engine's listeners: Host, Origin, and the token in
 * production and on addresses other than loopback. Limits and timeouts are the same as well. Rejects with ListenError.
 */
export async function openModuleListener(options: ListenOptions, rules: ModuleListenerRules): Promise<ModuleListener> {
  const { host, what } = options;
  function refusalOf(
    request: IncomingMessage,
  ): { readonly status: number; readonly code: string; readonly message: string } | Refusal | undefined {
    // On other addresses than loopback, clients may use any name for this machine, so only the token is checked.
    const misdirected = isLoopback(host) ? misdirection(request, listener.port, rules.access()) : undefined;
    if (misdirected !== undefined) return { status: 421, code: "misdirected_request", message: misdirected };
    const { origin } = request.headers;
    if (!originIsAllowed(origin, rules.access())) {
      return {
        status: 403,
        code: "FORBIDDEN",
        message: `the origin ${JSON.stringify(origin)} may not do this; add it to engine.allowed_origins`,
      };
    }
    if (!fetchSiteIsSafe(request, rules.access()))
      return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
    return rules.tokenRefusal(request, host);
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request);
    if (refusal === undefined) {
      await options.onRequest(request, response);
      return;
    }
    // The body of a refused request is not read, so the connection cannot be used again and is closed.
    const headers = { connection: "close", ...("headers" in refusal ? refusal.headers : {}) };
    sendError(response, Number(String(refusal.status).slice(0, 3)), refusal.code, refusal.message, headers);
  }

  const listener = new Listener({
    what,
    maxConnectionsPerAddress: rules.maxConnectionsPerAddress,
    onRequest(request, response) {
      respond(request, response).catch((error: unknown) => {
        rules.log.error("an HTTP handler failed", { listener: what, error });
        if (response.headersSent) response.destroy();
        else sendError(response, 500, "invocation_error", "the engine failed to respond; its log has the reason");
      });
    },
  });
  await listener.bind({ host, port: options.port });
  return {
    get port() {
      return listener.port;
    },
    close: () => {
      listener.stopAccepting();
      listener.close();
    },
  };
}
