import type { AccessSettings } from "../kernel/access/settings.ts";
import { type BridgeBlock, rbacSettings } from "./access-block.ts";
import { isLoopback } from "./listen-address.ts";
import type { EngineSettings, ListenAddress, LoadedConfig } from "./types.ts";

/** What the rules about listening off loopback look at. */
export type Exposure = Pick<EngineSettings, "mode" | "insecureBind">;

/** True when nobody without a token may use what is meant for the engine's own clients at this address. */
export function tokenRequiredAt(address: Pick<ListenAddress, "host">, { mode, insecureBind }: Exposure): boolean {
  return mode === "production" || (!isLoopback(address.host) && !insecureBind);
}

/** True in production mode, and when any listener can be reached from other machines. */
export function isExposed({ engine, http, realtime }: Pick<LoadedConfig, "engine" | "http" | "realtime">): boolean {
  const addresses = [engine.bridge, ...engine.bridges.map(({ address }) => address), http, realtime];
  return engine.mode === "production" || addresses.some(({ host }) => !isLoopback(host));
}

/** Who may connect to a listener for workers, defaults filled in. */
export function accessSettings(block: BridgeBlock, address: ListenAddress, exposure: Exposure): AccessSettings {
  const decidedByFunction = block.rbac?.auth_function_id !== undefined;
  const byDefault = decidedByFunction ? false : tokenRequiredAt(address, exposure);
  return {
    tokenRequired: block.token === undefined ? byDefault : block.token === "required",
    rbac: block.rbac === undefined ? undefined : rbacSettings(block.rbac),
    middlewareFunctionId: block.middleware_function_id,
  };
}

/**
 * Why a listener may not be bound as configured; undefined when it may. Off loopback the engine wants to know a token, so that it is a choice
 * and not an oversight; `key` is the listener's, e.g. `engine.bridge`.
 */
export function bindProblem(
  key: string,
  listener: { readonly address: ListenAddress; readonly access?: AccessSettings | undefined },
  facts: Exposure & { readonly hasToken: boolean },
): string | undefined {
  const { address, access } = listener;
  if (isLoopback(address.host) || facts.insecureBind) return undefined;
  if (!facts.hasToken) {
    return `${key}.host is ${address.host}, which other machines reach, and there is no token: set engine.token (or the variable SVC_TOKEN) so that only its holders get in, or bind ${key}.host to 127.0.0.1 (to let anybody in, start with --insecure-bind)`;
  }
  if (access !== undefined && !access.tokenRequired && access.rbac === undefined) {
    return `${key}.host is ${address.host}, which other machines reach, and ${key}.token is optional: add ${key}.rbac to say what those without a token may do, or require the token`;
  }
  return undefined;
}
