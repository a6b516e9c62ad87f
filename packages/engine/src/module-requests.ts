import type { LoadedConfig } from "./config/index.ts";
import type { ModuleRequest } from "./kernel/module-host.ts";
import { OBSERVABILITY } from "./modules/index.ts";

/** Modules that every engine runs, whatever its config says. */
const SYSTEM_MODULES: readonly string[] = ["engine-functions", "console-api", "live-updates", "http-functions"];
const SUPERVISOR = "supervisor";

/** Returns whether the module is part of every engine. Such a module is not listed. */
export function isSystemModule(name: string): boolean {
  return name === SUPERVISOR || SYSTEM_MODULES.includes(name);
}

/** Returns the modules to run. The supervisor is last, so that all modules are running when workers start. */
export function moduleRequestsOf(config: LoadedConfig): ModuleRequest[] {
  const fromFile = config.modules.map(({ name, instance, config: block }) => ({ name, instance, config: block }));
  return [
    ...SYSTEM_MODULES.map((name) => ({ name, config: undefined })),
    // Observability is the first module of the config file, so that it observes the other modules from their start.
    ...(fromFile.some(({ name }) => name === OBSERVABILITY) ? [] : [{ name: OBSERVABILITY, config: undefined }]),
    ...fromFile.sort((a, b) => Number(b.name === OBSERVABILITY) - Number(a.name === OBSERVABILITY)),
    { name: SUPERVISOR, config: { workers: config.localWorkers, commands: config.commands } },
  ];
}
