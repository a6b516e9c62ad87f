import type { Directory } from "../../kernel/directory.ts";

/**
 * Whether a function is there and only unrestricted workers provide it. What a restricted connection registers must not decide over clients, nor be
 * handed what others write.
 */
export function isTrustedFunction(id: string, directory: Directory): boolean {
  const workers = directory.functionById(id)?.workers ?? [];
  return workers.length > 0 && workers.every((worker) => (directory.workerById(worker.id)?.principal ?? null) === null);
}
