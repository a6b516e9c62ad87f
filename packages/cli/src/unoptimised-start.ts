import { setFlagsFromString } from "node:v8";

/**
 * Until the function that this returns is called, no code is optimised: what runs often while the engine starts builds schemas, and never runs again.
 * Without it an idle engine holds 4 MB of the optimising compiler, which was at work for half a dozen functions; starting takes no longer.
 */
export function startUnoptimised(): () => void {
  setFlagsFromString("--no-opt");
  return () => setFlagsFromString("--opt");
}
