import { codeOf } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import { type EngineCalls, workerStatus } from "./worker-functions.ts";

/**
 * Awaits a result that exists only for workers with a process. If the worker is a module, throws an error with the
 * command that works for modules.
 */
export async function processOnly<Answer>(
  engine: EngineCalls,
  name: string,
  { asked, lacks, instead }: { readonly asked: Promise<Answer>; readonly lacks: string; readonly instead: string },
): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) !== "invalid_input") throw error;
    // If the status cannot be read either, the first error is more useful.
    const status = await workerStatus(engine, name, { tail: 0 }).catch(() => undefined);
    if (status?.kind !== "module") throw error;
    throw new CommandFailure(`${name} is a module of the engine and has no ${lacks} of its own.`, {
      advice: [instead],
      cause: error,
    });
  }
}
