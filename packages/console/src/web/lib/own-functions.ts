import type { Worker } from "./worker-history.ts";

// Functions of users' workers, as opposed to the engine's own. Counters and lists show only these by default.

export interface ProvidedFunction {
  readonly internal: boolean;
  readonly workers: readonly { readonly id: string }[];
}

export function moduleIds(workers: readonly Pick<Worker, "id" | "kind">[]): ReadonlySet<string> {
  return new Set(workers.filter(({ kind }) => kind === "module").map(({ id }) => id));
}

/** Returns true if a worker provides the function, not only modules of the engine. */
export function isOwn({ internal, workers }: ProvidedFunction, modules: ReadonlySet<string>): boolean {
  return !internal && workers.some(({ id }) => !modules.has(id));
}
