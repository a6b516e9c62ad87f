/** Path on the bridge port below which the engine proves who it is: `GET /engine-proof/<nonce>`. */
export const ENGINE_PROOF_PATH = "/engine-proof/";

/** A nonce of the client: 32 random bytes in base64url without padding. */
export const PROOF_NONCE = /^[A-Za-z0-9_-]{43}$/;

interface ProofFacts {
  readonly nonce: string;
  /** Address and port of the server's end of the TCP connection over which the proof is asked for, as each side's socket reports them. */
  readonly address: string;
  readonly port: number;
}

/**
 * Text that an engine authenticates by HMAC-SHA-256 to prove that it is the engine of a data folder. It names its purpose, so that the result can
 * serve as no other credential, and the end of the connection, so that nobody who listens elsewhere can pass on another engine's proof.
 */
export function engineProofText({ nonce, address, port }: ProofFacts): string {
  // IPv4 over an IPv6 socket is written differently by the two sides, and a zone names an interface of one of them only.
  const plain = address.replace(/^::ffff:/i, "").replace(/%.*$/, "");
  return ["svc engine proof 1", nonce, plain, port].join("\n");
}

/**
 * Key of that HMAC: the random key of the engine's run, from its `engine.json`, and the token of its token file. The first keeps a short token from
 * being guessed by trying tokens against a proof; the second keeps out whoever brought the `engine.json`, e.g. with a repository.
 */
export function engineProofKey(proofKey: string, token: string | undefined): string {
  return `${proofKey}.${token ?? ""}`;
}
