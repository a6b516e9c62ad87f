import { CallError } from "@svc-runtime/protocol";
import type { Principal } from "../kernel/module.ts";

/** Returns the principal that provides the function now; undefined if there is no provider. */
export type ProviderOf = (functionId: string) => Principal | undefined;

/**
 * Returns the id of the restricted principal that provides the function now; undefined if the provider is trusted or
 * there is none. The id must be stored with each object of a restricted caller that calls the function later, e.g. a
 * job, because the caller's right to call the function may depend on who provides it.
 */
export function restrictedProviderOf(functionId: string, providerOf: ProviderOf): string | undefined {
  const provider = providerOf(functionId);
  return provider?.isTrusted === false ? provider.id : undefined;
}

/** Returns a `function_taken` error if a principal other than the stored `provider` provides the function now. */
export function takenRefusal(functionId: string, provider: string, providerOf: ProviderOf): CallError | undefined {
  if (providerOf(functionId) === undefined || restrictedProviderOf(functionId, providerOf) === provider)
    return undefined;
  return new CallError(
    "function_taken",
    `${functionId} belonged to ${provider} when a restricted caller named it, and now belongs to another principal`,
  );
}
