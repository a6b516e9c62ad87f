import { CallError } from "@svc/protocol";
import type { Principal } from "../kernel/module.ts";

/** Whose function it is now; undefined while nobody provides it. */
export type ProviderOf = (functionId: string) => Principal | undefined;

/**
 * Returns the id of the restricted principal that provides the function now; undefined if a trusted one or nobody does. Keep it with what a restricted caller
 * makes that calls the function later, e.g. a job: the caller's right to call the function may be due to that provider, e.g. if that is the caller itself.
 */
export function restrictedProviderOf(functionId: string, providerOf: ProviderOf): string | undefined {
  const provider = providerOf(functionId);
  return provider?.isTrusted === false ? provider.id : undefined;
}

/** Returns why the function must not be called, as `function_taken`: another principal provides it now than `provider`, which was kept. */
export function takenRefusal(functionId: string, provider: string, providerOf: ProviderOf): CallError | undefined {
  if (providerOf(functionId) === undefined || restrictedProviderOf(functionId, providerOf) === provider) return undefined;
  return new CallError("function_taken", `${functionId} belonged to ${provider} when a restricted caller named it, and belongs to another now`);
}
