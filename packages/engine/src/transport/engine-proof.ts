import { createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ENGINE_PROOF_PATH, engineProofText, PROOF_NONCE } from "@svc-runtime/protocol";
import { type AccessRules, fetchSiteIsSafe, upgradeRefusal } from "./guards.ts";
import { sendError, sendJson } from "./listener.ts";

/**
 * Proves to a client that this is the engine of a certain data folder, so that the client can check this before it
 * sends its token. `GET /engine-proof/<nonce>` returns `{"proof"}`: an HMAC over the nonce and over the address and
 * port that the client connected to. This needs no authentication, because a proof is useful only to the client that
 * created the nonce, and because every proof costs the same small amount of work.
 */
export class EngineProof {
  readonly #key: string;

  /** `key` as `engineProofKey` returns it. */
  constructor(key: string) {
    this.#key = key;
  }

  /** Responds to a request for a proof. Returns false without any effect for other requests. */
  answer(
    request: IncomingMessage,
    response: ServerResponse,
    { port, rules }: { readonly port: number; readonly rules: AccessRules },
  ): boolean {
    const path = request.url ?? "/";
    if (!path.startsWith(ENGINE_PROOF_PATH)) return false;
    const refusal = upgradeRefusal(request, port, rules);
    const nonce = path.slice(ENGINE_PROOF_PATH.length);
    const { localAddress, localPort } = request.socket;
    if (refusal !== undefined) sendError(response, Number(refusal.status.slice(0, 3)), refusal.code, refusal.message);
    else if (!fetchSiteIsSafe(request, rules))
      sendError(response, 403, "FORBIDDEN", "the request comes from a page of another site");
    else if (request.method !== "GET")
      sendError(response, 405, "method_not_allowed", `${ENGINE_PROOF_PATH} takes GET`, { allow: "GET" });
    else if (!PROOF_NONCE.test(nonce))
      sendError(response, 400, "invalid_input", "the nonce is 32 bytes in base64url, without padding");
    // Without an address, the client has disconnected.
    else if (localAddress === undefined || localPort === undefined) response.destroy();
    else {
      const proof = createHmac("sha256", this.#key)
        .update(engineProofText({ nonce, address: localAddress, port: localPort }))
        .digest("base64url");
      sendJson(response, 200, { proof }, { "cache-control": "no-store" });
    }
    return true;
  }
}
