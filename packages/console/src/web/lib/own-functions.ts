import type { Worker } from "./worker-history.ts";

// Functions of users' workers, in contrast to the engine's own functions. By default, counters and lists show only
// these.

export interface ProvidedFunction {
  readonly internal: boolean;
  readonly workers: readonly { readonly id: string }[];
}

export function moduleIds(workers: readonly Pick<Worker, "id" | "kind">[]): ReadonlySet<string> {
  return new Set(workers.filter(({ kind }) => kind === "module").map(({ id }) => id));
}

/** Returns true if a worker provides the function. Returns false if only modules of the engine provide it. */
export function isOwn({ internal, workers }: ProvidedFunction, modules: ReadonlySet<string>): boolean {
  return !internal && workers.some(({ id }) => !modules.has(id));
}
