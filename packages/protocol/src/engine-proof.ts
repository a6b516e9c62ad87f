/** Path on the bridge port at which the engine proves its identity: `GET /engine-proof/<nonce>`. */
export const ENGINE_PROOF_PATH = "/engine-proof/";

/** The client's nonce: 32 random bytes in base64url without padding. */
export const PROOF_NONCE = /^[A-Za-z0-9_-]{43}$/;

interface ProofFacts {
  readonly nonce: string;
  /** Server address and port of the TCP connection of the request, as each side's socket reports them. */
  readonly address: string;
  readonly port: number;
}

/**
 * Returns the text that an engine signs with HMAC-SHA-256 to prove that it is the engine of a data folder. The text
 * names its purpose, so that the signature cannot be used as another credential. It contains the server address, so
 * that a process at another address cannot forward the engine's proof.
 */
export function engineProofText({ nonce, address, port }: ProofFacts): string {
  // Client and engine must get the same text. But they may format an IPv4 address on an IPv6 socket differently, and a
  // zone (`%eth0`) names a network interface of only one of them. So both parts are removed.
  const plain = address.replace(/^::ffff:/i, "").replace(/%.*$/, "");
  return ["svc engine proof 1", nonce, plain, port].join("\n");
}

/**
 * Returns the key for the HMAC of `engineProofText`. It consists of the random key of the engine's run, from its
 * `engine.json`, and the token of its token file. The random key prevents guessing a short token from a proof. The
 * token is needed because a third party may have placed the `engine.json`, e.g. in a repository.
 */
export function engineProofKey(proofKey: string, token: string | undefined): string {
  return `${proofKey}.${token ?? ""}`;
}
