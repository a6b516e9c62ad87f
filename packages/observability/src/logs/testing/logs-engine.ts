import { type InMemoryEngine, type InMemoryEngineOptions, inMemoryEngine } from "@svc-runtime/engine/testing";
import observability, { OBSERVABILITY } from "../../index.ts";

/** Returns an engine with this module and the given config. */
export function logsEngine(
  config: Readonly<Record<string, unknown>> = {},
  more: InMemoryEngineOptions = {},
): Promise<InMemoryEngine> {
  return inMemoryEngine({
    ...more,
    modules: [...(more.modules ?? []), observability],
    config: { ...more.config, [OBSERVABILITY]: config },
  });
}
