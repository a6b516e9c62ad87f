import { CallError } from "@svc-runtime/protocol";
import { CommandFailure } from "../exit-codes.ts";

/** Built-in workers, by the prefix of their functions or the id of a function. */
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

/** Returns the built-in worker that provides the function, or undefined for other functions. */
export function moduleOf(functionId: string): string | undefined {
  return PROVIDERS.find(([prefix]) =>
    prefix.endsWith("::") ? functionId.startsWith(prefix) : functionId === prefix,
  )?.[1];
}

/**
 * Converts the error that a function of a built-in worker is missing. The new error contains the command that adds the
 * worker. Returns undefined for other errors.
 */
export function missingModule(error: unknown): CommandFailure | undefined {
  const functionId = notFound(error);
  const module = functionId === undefined ? undefined : moduleOf(functionId);
  if (module === undefined) return undefined;
  return new CommandFailure(`The engine runs without ${module}, which provides ${functionId}.`, {
    advice: [addModule(module)],
    cause: error,
  });
}

export function addModule(module: string): string {
  return `Add it to the running engine with: svc worker add ${module}`;
}

/** Returns the function id of a function_not_found error, or undefined for other errors. */
export function notFound(error: unknown): string | undefined {
  if (!CallError.is(error) || error.code !== "function_not_found") return undefined;
  const id = error.details?.function_id;
  return typeof id === "string" ? id : undefined;
}
