import { isDeepStrictEqual } from "node:util";
import type { Roles } from "./access/roles.ts";
import type { AccessSettings } from "./access/settings.ts";
import { type ConfigDiff, ConfigError, type ConfigFileChange, diffConfig, type LoadedConfig } from "./config/index.ts";
import { settingsAfterReload } from "./config/settings-after-reload.ts";
import type { ListenAddress } from "./config/types.ts";
import type { Logger } from "./kernel/logger.ts";
import type { ModuleHost } from "./kernel/module-host.ts";
import type { EngineTriggers } from "./kernel/triggers/unowned-triggers.ts";
import type { Listeners } from "./listeners.ts";
import { moduleRequestsOf } from "./module-requests.ts";

/** The parts of the engine that a reload changes. */
export interface ReloadParts {
  /** Reads the config file. Throws ConfigError. */
  readonly load: () => LoadedConfig;
  /** The active configuration, which a reload replaces. */
  readonly active: { config: LoadedConfig };
  readonly roles: Roles;
  readonly unownedTriggers: EngineTriggers;
  readonly listeners: Listeners;
  readonly host: ModuleHost;
  readonly log: Logger;
  /** Reserves the ids of the functions that decide about access. Call when the access rules have changed. */
  readonly reserveIds: () => void;
  /** Call when the addresses of listeners have changed. */
  readonly reannounce: () => void;
}

/** Applies changes of the config file to the running engine. If a change cannot be applied, the old config stays. */
export class ConfigReload {
  readonly #parts: ReloadParts;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
  }

  /** Call for each change of the config file, one after the other. */
  async fileChanged(change: ConfigFileChange): Promise<void> {
    if (change.kind === "unreadable") {
      this.#parts.log.error("the config file cannot be read; the running configuration stays", {
        reason: change.reason,
      });
      return;
    }
    if (change.kind === "shrunk") {
      this.#warnOfShrunkFile(change.waitMs);
      return;
    }
    let next: LoadedConfig;
    try {
      next = this.#parts.load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#parts.log.error("the config file is invalid; the running configuration stays", { problems: error.message });
      return;
    }
    const before = this.#parts.active.config;
    const diff = diffConfig(before, next);
    for (const warning of next.warnings) if (!before.warnings.includes(warning)) this.#parts.log.warn(warning);
    for (const warning of diff.warnings) this.#parts.log.warn(warning);
    this.#parts.listeners.reloadCertificates();
    if (diff.isEmpty) return;
    const undoMoves: (() => Promise<void>)[] = [];
    let reason: { readonly problems: readonly string[] } | { readonly error: unknown };
    try {
      await this.#parts.listeners.move(diff, undoMoves);
      this.#parts.reannounce();
      this.#parts.active.config = { ...next, engine: settingsAfterReload(before.engine, next.engine) };
      this.#warnOfOtherBridges(before, next);
      this.#parts.reserveIds();
      this.#dropOutdated();
      const problems = await this.#parts.host.apply(moduleRequestsOf(next));
      if (problems.length === 0) {
        this.#parts.roles.set(accessOf(this.#parts.active.config));
        this.#parts.unownedTriggers.removeTriggersOfChangedRoles();
        const moved = diff.http !== undefined || diff.realtime !== undefined;
        this.#parts.log.info("the config file was applied", {
          ...withoutEmptyLists(describeDiff(diff)),
          ...(moved ? this.#parts.listeners.exposure() : {}),
        });
        if (moved) this.#parts.listeners.warnOfOpenListeners();
        return;
      }
      reason = { problems };
    } catch (error) {
      reason = { error };
    }
    try {
      await this.#rollBackTo(before, undoMoves);
    } finally {
      this.#parts.log.error("the config file could not be applied; the running configuration stays", reason);
    }
  }

  #dropOutdated(): void {
    const dropped = this.#parts.listeners.dropOutdated();
    if (dropped > 0)
      this.#parts.log.warn("connections were closed, because the rules for them changed", { connections: dropped });
  }

  /** Logs a warning that names what the shrunk file would stop. */
  #warnOfShrunkFile(waitMs: number): void {
    let removed: readonly string[];
    try {
      removed = describeDiff(diffConfig(this.#parts.active.config, this.#parts.load())).removed ?? [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // A file with mistakes is never applied.
      return;
    }
    const fields = removed.length === 0 ? {} : { would_stop: removed };
    this.#parts.log.warn(`the config file may be cut off; it is applied if it stays so for ${waitMs / 1000} s`, fields);
  }

  async #rollBackTo(before: LoadedConfig, undoMoves: readonly (() => Promise<void>)[]): Promise<void> {
    this.#parts.active.config = before;
    this.#parts.reserveIds();
    this.#dropOutdated();
    for (const undoMove of undoMoves) await undoMove();
    this.#parts.reannounce();
    const problems = await this.#parts.host.apply(moduleRequestsOf(before));
    if (problems.length > 0)
      this.#parts.log.error("the former configuration could not be restored in full", { problems });
  }

  /** Changed access rules apply to running listeners at once. Added or removed listeners apply after a restart. */
  #warnOfOtherBridges(before: LoadedConfig, next: LoadedConfig): void {
    const addressesOf = ({ engine }: LoadedConfig): readonly ListenAddress[] =>
      engine.bridges.map(({ address }) => address);
    if (isDeepStrictEqual(addressesOf(before), addressesOf(next))) return;
    this.#parts.log.warn("the listeners of engine.bridges changed; restart the engine to apply the change");
    for (const [index, { address, access }] of this.#parts.active.config.engine.bridges.entries()) {
      if (access.isRemoved !== true || before.engine.bridges[index]?.access.isRemoved === true) continue;
      const { host, port } = address;
      this.#parts.log.warn(
        "a listener was removed from engine.bridges; it refuses every connection until the engine is restarted",
        { host, port },
      );
    }
  }
}

/** The access rules of each bridge listener. */
export function accessOf({ engine: { bridgeAccess, bridges } }: LoadedConfig): readonly AccessSettings[] {
  return [bridgeAccess, ...bridges.map(({ access }) => access)];
}

/** Returns the members without empty arrays, which would be useless in a log line. */
export function withoutEmptyLists(members: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]: [string, unknown]) => !(Array.isArray(value) && value.length === 0)),
  );
}

function describeDiff({ modules, localWorkers, settings }: ConfigDiff): Readonly<Record<string, readonly string[]>> {
  const namesOf = (entries: readonly { readonly name: string }[]): string[] => entries.map(({ name }) => name);
  return {
    added: [...namesOf(modules.added), ...namesOf(localWorkers.added)],
    removed: [...namesOf(modules.removed), ...namesOf(localWorkers.removed)],
    changed: [
      ...namesOf(modules.changed.map(({ after }) => after)),
      ...namesOf(localWorkers.changed.map(({ after }) => after)),
      ...settings.map(({ key }) => key),
    ],
  };
}
