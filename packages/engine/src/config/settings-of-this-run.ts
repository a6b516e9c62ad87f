import type { AccessSettings } from "../kernel/access/settings.ts";
import type { EngineSettings } from "./types.ts";

/**
 * The settings in force after a change of the file. Stays as it is what only a restart changes: workers know the bridge's address, and open
 * files lie in the folders. A listener that goes on listening where it did goes on wanting the token as it did.
 */
export function settingsOfThisRun(before: EngineSettings, next: EngineSettings): EngineSettings {
  const { bridge, dataDir, logsDir, mode, token, insecureBind } = before;
  const isExposedAlike = mode === next.mode && insecureBind === next.insecureBind;
  const access = (earlier: AccessSettings | undefined, later: AccessSettings, isJudgedAlike: boolean): AccessSettings =>
    isJudgedAlike ? later : { ...later, tokenRequired: later.tokenRequired || (earlier?.tokenRequired ?? true) };
  return {
    ...next,
    bridge,
    dataDir,
    logsDir,
    mode,
    token,
    insecureBind,
    bridgeAccess: access(before.bridgeAccess, next.bridgeAccess, isExposedAlike && bridge.host === next.bridge.host),
    bridges: next.bridges.map((listener, index) => ({ ...listener, access: access(before.bridges[index]?.access, listener.access, isExposedAlike) })),
  };
}
