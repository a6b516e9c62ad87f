import type { InMemoryWorker } from "./in-memory-engine.ts";

/** Registers a trigger and resolves with its id when it is bound. Rejects with the reason if it is refused. */
export async function bindTrigger(
  worker: InMemoryWorker,
  type: string,
  functionId: string,
  config: unknown,
): Promise<string> {
  const id = crypto.randomUUID();
  worker.say({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  if (answer.error !== undefined && answer.error !== null)
    throw new Error((answer.error as { message: string }).message);
  return id;
}
