import type { AccessSettings } from "../access/settings.ts";
import { type BridgeBlock, rbacSettings } from "./blocks/access-block.ts";
import { isLoopback } from "./listen-address.ts";
import type { EngineSettings, ListenAddress, LoadedConfig } from "./types.ts";

/** Settings that decide whether a listener may be open to other machines. */
export type Exposure = Pick<EngineSettings, "mode" | "insecureBind">;

/** True if clients that connect to this address must present a token for the functions of the engine's own clients. */
export function tokenRequiredAt(address: Pick<ListenAddress, "host">, { mode, insecureBind }: Exposure): boolean {
  return mode === "production" || (!isLoopback(address.host) && !insecureBind);
}

/** True in production mode, or if other machines can reach any of the listeners. */
export function isExposed({ engine, http, realtime }: Pick<LoadedConfig, "engine" | "http" | "realtime">): boolean {
  const addresses = [engine.bridge, ...engine.bridges.map(({ address }) => address), http, realtime];
  return engine.mode === "production" || addresses.some(({ host }) => !isLoopback(host));
}

/** Returns the access rules of a listener for workers, with defaults filled in. */
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
 * Returns the reason why a listener may not be bound as configured, or undefined if it may. A listener that other
 * machines can reach requires a token, so that nobody opens the engine to other machines by mistake. `key` is the
 * listener's key, e.g. `engine.bridge`.
 */
export function bindProblem(
  key: string,
  listener: { readonly address: ListenAddress; readonly access?: AccessSettings | undefined },
  facts: Exposure & { readonly hasToken: boolean },
): string | undefined {
  const { address, access } = listener;
  if (isLoopback(address.host) || facts.insecureBind) return undefined;
  if (!facts.hasToken) {
    return `${key}.host is ${address.host}, which other machines can reach, and no token is set: set engine.token (or the variable SVC_TOKEN), or bind ${key}.host to 127.0.0.1 (to accept every client, start with --insecure-bind)`;
  }
  if (access !== undefined && !access.tokenRequired && access.rbac === undefined) {
    return `${key}.host is ${address.host}, which other machines can reach, and ${key}.token is optional: add ${key}.rbac to restrict clients without a token, or require the token`;
  }
  return undefined;
}
