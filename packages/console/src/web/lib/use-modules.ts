import { useMemo } from "react";
import { moduleIds } from "./own-functions.ts";
import { useWorkers } from "./use-live.ts";

/** Returns the ids of workers that are modules of the engine. */
export function useModules(): ReadonlySet<string> {
  const { workers } = useWorkers();
  return useMemo(() => moduleIds(workers), [workers]);
}

/** Returns false until the modules are known. Before that, every function would count as a worker's. */
export function useAreModulesKnown(): boolean {
  const { loaded, refusal } = useWorkers();
  return loaded || refusal !== null;
}
