import type { AccessSettings } from "../access/settings.ts";
import { camelCase, type EngineOptionSettings, engineOptions, optionFacts } from "./engine-options.ts";
import type { BridgeListener, EngineSettings, ListenAddress } from "./types.ts";

/** Access rules of a running listener that was removed from the config file. */
const REMOVED: AccessSettings = {
  tokenRequired: true,
  rbac: undefined,
  middlewareFunctionId: undefined,
  isRemoved: true,
};

/** Options that only a restart changes. */
const KEPT = Object.entries(engineOptions)
  .filter(([, schema]) => optionFacts.get(schema)?.needsRestart === true)
  .map(([name]) => camelCase(name) as keyof EngineOptionSettings);

/**
 * Returns the settings in force after the config file changes. `before` are the settings in force until then. `next`
 * are the settings in the changed file. Settings that need a restart keep their values, e.g. the addresses of bridges
 * and the folders with open files.
 *
 * A listener takes over the access rules of the new file. There is one exception: the new file gives the listener
 * another host, or changes `mode` or `insecure_bind`. The engine applies these changes only when it restarts, but the
 * new rules were computed for them. So until the restart the listener may start to require a token, but it does not
 * stop requiring one.
 */
export function settingsAfterReload(before: EngineSettings, next: EngineSettings): EngineSettings {
  const { bridge } = before;
  const isExposedAlike = before.mode === next.mode && before.insecureBind === next.insecureBind;
  const access = (running: BridgeListener, listener: BridgeListener): AccessSettings => {
    const [earlier, later] = [running.access, listener.access];
    if (isExposedAlike && running.address.host === listener.address.host) return later;
    return {
      ...later,
      tokenRequired:
        later.tokenRequired || earlier.tokenRequired || (later.rbac === undefined && earlier.rbac !== undefined),
    };
  };
  return {
    ...next,
    cluster: before.cluster,
    ...Object.fromEntries(KEPT.map((name) => [name, before[name]])),
    bridge,
    bridgeAccess: access(
      { address: bridge, access: before.bridgeAccess },
      { address: next.bridge, access: next.bridgeAccess },
    ),
    bridges: before.bridges.map((running, index) => {
      const listener = counterpartOf(index, before.bridges, next.bridges);
      return { address: running.address, access: listener === undefined ? REMOVED : access(running, listener) };
    }),
  };
}

/**
 * Returns the listener of the new file that corresponds to a running listener. This is the new listener with the same
 * address. If no new listener has this address, and the number of listeners is unchanged, it is the new listener at the
 * same index. Returns undefined if the new listener at that index has the address of another running listener, or if
 * there is no such listener.
 */
function counterpartOf(
  index: number,
  running: readonly BridgeListener[],
  listeners: readonly BridgeListener[],
): BridgeListener | undefined {
  const sameAddress = listeners.find(({ address }) => isSameAddress(address, running[index]?.address));
  if (sameAddress !== undefined || running.length !== listeners.length) return sameAddress;
  const inPlace = listeners[index];
  return running.some(({ address }) => isSameAddress(address, inPlace?.address)) ? undefined : inPlace;
}

/** Port 0 identifies no listener: each listener gets another free port. */
function isSameAddress(a: ListenAddress, b: ListenAddress | undefined): boolean {
  return a.port !== 0 && a.host === b?.host && a.port === b.port;
}
