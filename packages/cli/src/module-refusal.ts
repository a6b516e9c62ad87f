import type { Worker } from "@svc/sdk";
import { codeOf } from "./engine-request.ts";
import { CommandFailure } from "./exit-codes.ts";
import { workerStatus } from "./worker-functions.ts";

/** What was asked of a worker that only a process can have; of a module it fails with the command that tells the like. */
export async function ofProcess<Answer>(
  engine: Worker,
  name: string,
  { asked, lacks, instead }: { readonly asked: Promise<Answer>; readonly lacks: string; readonly instead: string },
): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) !== "invalid_input") throw error;
    // Where that is not to be had either, the first answer is the one to tell.
    const status = await workerStatus(engine, name, { tail: 0 }).catch(() => undefined);
    if (status?.kind !== "module") throw error;
    throw new CommandFailure(`${name} is a module of the engine and has no ${lacks} of its own.`, { advice: [instead], cause: error });
  }
}
