import { nkeys } from "@nats-io/transport-node";

/** Returns a new key of an engine: the seed is its secret, the public part belongs into the servers' files. */
export function newNkey(): { readonly seed: string; readonly publicKey: string } {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
