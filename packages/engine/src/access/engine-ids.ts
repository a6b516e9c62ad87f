/** Namespaces of the engine's functions. Published clients call some of them by `iii`. */
export const ENGINE_NAMESPACES: ReadonlySet<string> = new Set([
  "cron",
  "engine",
  "event",
  "iii",
  "queue",
  "state",
  "stream",
  "svc",
  "worker",
]);

/** The only engine function without a namespace: published clients publish events by this name. */
const PUBLISH = "publish";

/** Returns true for ids of engine functions, also of modules that are not loaded. */
export function isEngineFunction(id: string): boolean {
  return id === PUBLISH || ENGINE_NAMESPACES.has(id.split("::", 1)[0] ?? "");
}
