import { CallError } from "@svc-runtime/protocol";
import type { Principal } from "../kernel/module.ts";

/** Returns the principal that provides the function now; undefined if there is no provider. */
export type ProviderOf = (functionId: string) => Principal | undefined;

/**
 * Returns the id of the restricted principal that provides the function now; undefined if a trusted principal or none
 * does. Store it with everything that a restricted caller creates and that calls the function later, e.g. a job. The
 * caller's right to call the function may depend on that provider.
 */
export function restrictedProviderOf(functionId: string, providerOf: ProviderOf): string | undefined {
  const provider = providerOf(functionId);
  return provider?.isTrusted === false ? provider.id : undefined;
}

/** Returns a `function_taken` error if another principal than the stored `provider` provides the function now. */
export function takenRefusal(functionId: string, provider: string, providerOf: ProviderOf): CallError | undefined {
  if (providerOf(functionId) === undefined || restrictedProviderOf(functionId, providerOf) === provider)
    return undefined;
  return new CallError(
    "function_taken",
    `${functionId} belonged to ${provider} when a restricted caller named it, and now belongs to another principal`,
  );
}
