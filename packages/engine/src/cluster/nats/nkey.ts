import { nkeys } from "@nats-io/transport-node";

/** Returns a new key for an engine. The seed is the engine's secret. The public key is for the servers' files. */
export function newNkey(): { readonly seed: string; readonly publicKey: string } {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
