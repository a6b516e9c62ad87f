import type { InMemoryWorker } from "./in-memory-engine.ts";

/** Asks for a trigger and resolves when it stands. Rejects with the reason when it is refused. */
export async function bindTrigger(worker: InMemoryWorker, type: string, functionId: string, config: unknown): Promise<string> {
  const id = crypto.randomUUID();
  worker.say({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  if (answer.error !== undefined && answer.error !== null) throw new Error((answer.error as { message: string }).message);
  return id;
}
