/** Namespaces of the engine's functions. Published clients call some of these functions with the namespace `iii`. */
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

/** The only engine function without a namespace. Published clients use it to publish events. */
const PUBLISH = "publish";

/** Returns true for ids of engine functions, including functions of modules that are not loaded. */
export function isEngineFunction(id: string): boolean {
  return id === PUBLISH || ENGINE_NAMESPACES.has(id.split("::", 1)[0] ?? "");
}
