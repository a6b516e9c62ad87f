import { useMemo } from "react";
import { moduleIds } from "./own-functions.ts";
import { useWorkers } from "./use-live.ts";

/** Returns the ids of workers that are modules of the engine. */
export function useModules(): ReadonlySet<string> {
  const { workers } = useWorkers();
  return useMemo(() => moduleIds(workers), [workers]);
}

/**
 * Returns true when the modules are known. Before that, functions of modules could not be distinguished from those of
 * workers.
 */
export function useAreModulesKnown(): boolean {
  const { loaded, refusal } = useWorkers();
  return loaded || refusal !== null;
}
