import { z } from "zod";
import type { CommandEntry, LocalWorkerEntry } from "../../config/types.ts";
import { defineModule, type Module } from "../../kernel/module.ts";
import { provideWorkerFunctions } from "./functions.ts";
import { Supervisor, type SupervisorConfig, type SupervisorDeps } from "./supervisor.ts";

export type { ModuleStatus, WorkerStatus } from "./status.ts";
export type { SupervisorConfig, SupervisorDeps } from "./supervisor.ts";

// Only checks that entries are objects, because the config loader has validated and completed them.
const isEntry = (value: unknown): boolean => typeof value === "object" && value !== null;
const config = z.object({
  workers: z.array(z.custom<LocalWorkerEntry>(isEntry)),
  commands: z.array(z.custom<CommandEntry>(isEntry)).optional(),
});

/** Runs the workers of the config file that have a `path` as local processes. */
export function createSupervisor(deps: SupervisorDeps): Module<SupervisorConfig> {
  return defineModule<SupervisorConfig>({
    name: "supervisor",
    summary: "Installs, starts, watches, restarts and stops local workers",
    config,
    start(context) {
      const supervisor = new Supervisor(context, deps);
      provideWorkerFunctions(context, supervisor);
      context.reportReadiness(() => supervisor.readinessProblem());
      context.reportStartingWorkers(() => supervisor.startingWorkers());
      supervisor.apply(context.config);
      return {
        reconfigure: (next) => supervisor.apply(next),
        stop: () => supervisor.stop(),
      };
    },
  });
}
