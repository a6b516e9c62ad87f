/** First parts of the ids of functions of the engine. `iii` is the one that published clients call some of them by. */
export const ENGINE_NAMESPACES: ReadonlySet<string> = new Set(["cron", "engine", "event", "iii", "queue", "state", "stream", "svc", "worker"]);

/** Id of the one function of the engine that is in no namespace: published clients publish events by this name. */
const PUBLISH = "publish";

/** True for ids of functions of the engine, also of modules that are not loaded. */
export function isEngineFunction(id: string): boolean {
  return id === PUBLISH || ENGINE_NAMESPACES.has(id.split("::", 1)[0] ?? "");
}
