import type { Worker } from "./worker-history.ts";

// What somebody's workers provide, as opposed to the engine's own: what counters count and lists show unless system is asked for.

export interface ProvidedFunction {
  readonly internal: boolean;
  readonly workers: readonly { readonly id: string }[];
}

export function moduleIds(workers: readonly Pick<Worker, "id" | "kind">[]): ReadonlySet<string> {
  return new Set(workers.filter(({ kind }) => kind === "module").map(({ id }) => id));
}

/** A worker provides it; the engine's modules do not do so alone. */
export function isOwn({ internal, workers }: ProvidedFunction, modules: ReadonlySet<string>): boolean {
  return !internal && workers.some(({ id }) => !modules.has(id));
}
