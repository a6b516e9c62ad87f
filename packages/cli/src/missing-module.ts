import { CallError } from "@svc/protocol";
import { CommandFailure } from "./exit-codes.ts";

/** Which built-in worker provides the functions that begin so. */
const PROVIDERS: readonly (readonly [prefix: string, module: string])[] = [
  ["state::", "svc-state"],
  ["stream::", "svc-stream"],
  ["queue::", "svc-queue"],
  ["engine::queue::", "svc-queue"],
  ["svc::durable::", "svc-queue"],
  ["svc::queue::", "svc-queue"],
  ["event::", "svc-event"],
  ["publish", "svc-event"],
  ["cron::", "svc-cron"],
];

/** The built-in worker that would provide a function; undefined for a function of anybody else's. */
export function moduleOf(functionId: string): string | undefined {
  return PROVIDERS.find(([prefix]) => (prefix.endsWith("::") ? functionId.startsWith(prefix) : functionId === prefix))?.[1];
}

/** What a missing function of a built-in worker means: exit 1 with the command that adds the worker. Undefined for any other error. */
export function missingModule(error: unknown): CommandFailure | undefined {
  const functionId = notFound(error);
  const module = functionId === undefined ? undefined : moduleOf(functionId);
  if (module === undefined) return undefined;
  return new CommandFailure(`The engine runs without ${module}, which provides ${functionId}.`, { advice: [addModule(module)], cause: error });
}

export function addModule(module: string): string {
  return `Add it to the running engine with: svc worker add ${module}`;
}

/** The function that an error says is not there. */
export function notFound(error: unknown): string | undefined {
  if (!CallError.is(error) || error.code !== "function_not_found") return undefined;
  const id = error.details?.function_id;
  return typeof id === "string" ? id : undefined;
}
