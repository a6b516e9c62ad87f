/** Trigger types of modules, with the name of the module to add. */
const MODULE_OF_TYPE: ReadonlyMap<string, string> = new Map([
  ["http", "svc-http"],
  ["state", "svc-state"],
  ["state:created", "svc-state"],
  ["state:updated", "svc-state"],
  ["state:deleted", "svc-state"],
  ["cron", "svc-cron"],
  ["event", "svc-event"],
  ["subscribe", "svc-event"],
  ["queue", "svc-queue"],
  ["durable:subscriber", "svc-queue"],
  ["stream", "svc-stream"],
  ["stream:join", "svc-stream"],
  ["stream:leave", "svc-stream"],
  ["log", "svc-observability"],
  ["trace", "svc-observability"],
]);

/**
 * Returns the end of an error message about a trigger type without a provider. It says how to add the module that
 * provides the type, or is empty if no module does.
 */
export function moduleHint(type: string): string {
  const module = MODULE_OF_TYPE.get(type);
  return module === undefined ? "" : `; add it with: svc worker add ${module}`;
}
