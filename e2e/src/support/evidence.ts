/** Source of evidence about a failed test, such as the output of a process or a screenshot. */
export interface EvidenceSource {
  /** First part of the file's name, e.g. `engine`; a number is added. */
  readonly kind: string;
  /** Extension of the file's name, e.g. `log`. */
  readonly extension: string;
  readonly read: () => Promise<string | Uint8Array>;
  /** True for a source that can be read after its end, such as the output of a process that crashed. Default false. */
  readonly outlivesEnd?: boolean;
}

interface Evidence {
  readonly fileName: string;
  readonly read: EvidenceSource["read"];
  hasEnded: boolean;
}

/** Maximum number of ended sources that are kept. */
const MAX_ENDED = 8;

let current: readonly Evidence[] = [];
const counts = new Map<string, number>();

/** Registers what to keep if a test fails from now on. Returns a function that marks the source as ended. */
export function addEvidence({ kind, extension, read, outlivesEnd = false }: EvidenceSource): () => void {
  const type = `${kind}.${extension}`;
  const number = (counts.get(type) ?? 0) + 1;
  counts.set(type, number);
  const evidence: Evidence = { fileName: `${kind}-${number}.${extension}`, read, hasEnded: false };
  current = [...current, evidence];
  return () => {
    evidence.hasEnded = true;
    const ended = current.filter(({ hasEnded }) => hasEnded);
    const dropped = outlivesEnd ? ended.slice(0, -MAX_ENDED) : [evidence];
    current = current.filter((one) => !dropped.includes(one));
  };
}

/** Returns all registered sources, oldest first. */
export function registeredEvidence(): readonly Pick<Evidence, "fileName" | "read">[] {
  return current;
}

/** Drops ended sources of an earlier file that ran in the same process. */
export function dropEndedEvidence(): void {
  current = current.filter(({ hasEnded }) => !hasEnded);
}
